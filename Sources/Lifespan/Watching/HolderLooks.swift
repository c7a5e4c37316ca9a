// Who holds what has outlived its time: looked for while a survivor is told, where the program wants it. Called by Examiner.
#if Recording
internal import CLinkedDoor

/// What was found out about who holds a survivor.
struct HeldBy {
  var path: [String] = []
  var reach: Allocations.HolderReport.Reach?
  /// Why nothing is known, as a part of a sentence.
  var note: String?
}

/// Looks take at most a hundredth of the time, beyond the first ten: each costs a copy of the page tables and a walk over the heap, a
/// second for a million objects. After a look the next one has a hundred times as long to wait; ten that were not used are saved.
struct HolderLooks {
  private static let share: UInt64 = 100
  private static let most = 10
  /// When each of the last ones is paid for; in order.
  private var paid: [UInt64] = []
  private var hasSaidHow = false
  private let find: (UInt64) -> HeldBy

  init(find: @escaping (UInt64) -> HeldBy = Self.holders) { self.find = find }

  /// `place`: the object's address, inverted. Nothing of the caller's may look like a reference to it.
  mutating func look(at place: UInt64, _ rules: WatchRules, _ now: () -> UInt64) -> HeldBy {
    guard rules.looksForHolders ?? (rules.isTest || !lifespan_watch_asks_at_once()) else { return advice() }
    let begin = now()
    paid.removeAll { $0 <= begin }
    guard paid.count < Self.most else {
      return HeldBy(note: "was not looked for: that takes at most a hundredth of the time")
    }
    let found = find(place)
    let end = now()
    paid.append(max(paid.last ?? 0, end) &+ (end &- begin) &* Self.share)
    return found
  }

  private static func holders(_ place: UInt64) -> HeldBy {
    do {
      let report = try Allocations.holders(atInverted: place)
      let root = report.path?.root.map { [$0.description] } ?? []
      return HeldBy(path: root + (report.path?.steps.map { $0.description } ?? []), reach: report.reach)
    } catch .unknownObject, .notRecording {
      return HeldBy()
    } catch {
      return HeldBy(note: "is not known: \(error)")
    }
  }

  /// How to have it told; once.
  private mutating func advice() -> HeldBy {
    guard !hasSaidHow, (try? Door.checkRecording()) != nil else { return HeldBy() }
    hasSaidHow = true
    return HeldBy(
      note: "is told under lifespan record, and after Allocations.handleFindings(_:lookingForHolders: true)")
  }
}

extension Allocations {
  /// Called by LifespanTesting: in a test who holds a survivor is worth a moment in which the threads stand still.
  package static func watchesInTests() { _ = Watcher.withRules { $0.isTest = true } }
}
#endif
