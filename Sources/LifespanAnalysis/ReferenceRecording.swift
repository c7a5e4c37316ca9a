// Which retains and releases a recording holds: of which types, and whether all of them from an object's birth on. Used by
// the questions that count references.
import LifespanTrace

/// What a trace knows of reference counts.
struct ReferenceRecording: Sendable {
  private let isOfAllTypes: Bool
  /// No event was discarded, or was no longer kept when the file was saved.
  let isKept: Bool
  private let isWhole: Bool

  init(_ trace: Trace) {
    isOfAllTypes = trace.info["refcounts"] == "all"
    isKept = trace.info["history.dropped"] == nil && trace.info["discarded.by"] == nil
    isWhole = isKept && trace.gaps.isEmpty
  }

  /// Whether those of a type's objects are in it at all.
  func holds(_ type: TypeIdentity) -> Bool { type.kind.hasReferenceCount && (isOfAllTypes || type.isTracked) }

  /// Whether each of them is, from the object's birth on: then what they sum up to is the object's count.
  func holdsAll(_ type: TypeIdentity) -> Bool {
    holds(type) && isWhole && (isOfAllTypes || !type.isTrackedLate)
  }
}

/// A strong count that events change one by one, in four bytes.
enum RunningCount {
  /// Not known.
  static let unknown = Int32.min

  /// The count after a retain or release. Where not every event is there (`isWhole` false) it is what the event itself saw.
  static func after(_ kind: EventKind, _ amount: EventAmount, _ count: Int32, isWhole: Bool) -> Int32 {
    let change = kind == .retain ? Int64(amount.amount) : -Int64(amount.amount)
    if !isWhole, let before = amount.countBefore { return Int32(clamping: max(0, Int64(before) + change)) }
    guard count != unknown else { return unknown }
    return Int32(clamping: max(Int64(unknown) + 1, Int64(count) + change))
  }
}
