// Two recordings by type, or by type and stack. Types and functions are matched by their names, as addresses and numbers differ from run to run.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// One of the two recordings.
public struct ComparedRecording {
  let sites: AllocationSites
  let subject: ReportSubject
  let names: ReportNames

  /// What it allocated, and its names.
  public init(_ sites: AllocationSites, subject: ReportSubject, names: ReportNames) {
    self.sites = sites
    self.subject = subject
    self.names = names
  }
}

/// What changed from one recording to the other.
public struct Comparison {
  struct Key: Hashable {
    let type: String
    let kind: ObjectKind
    /// Functions and modules from the innermost; empty where types are compared.
    let stack: [String]
  }

  struct Row {
    let key: Key
    /// Of the recording that has them, for its lines.
    var frames: [Frame] = []
    var base = CallWeight()
    var candidate = CallWeight()

    var count: Int { candidate.count &- base.count }
    var bytes: Int64 { candidate.bytes &- base.bytes }
  }

  /// What is compared.
  public enum Matching: String, Sendable, CaseIterable {
    /// Types.
    case type
    /// Types, and the stacks that allocated them.
    case stack
  }

  let rows: [Row]
  let total: Row
  let matching: Matching
  let lifespan: LifespanFilter

  /// Bytes that the base holds.
  public var baseBytes: Int64 { total.base.bytes }
  /// Bytes that the candidate holds more.
  public var growth: Int64 { total.bytes }

  /// Compares; rows whose bytes changed most come first.
  public init(_ base: ComparedRecording, _ candidate: ComparedRecording, by matching: Matching) {
    self.matching = matching
    lifespan = base.sites.lifespan
    var found: [Key: Row] = [:]
    var total = Row(key: Key(type: "", kind: .classInstance, stack: []))
    for (recording, isBase) in [(base, true), (candidate, false)] {
      let named = recording.sites.named(recording.names)
      for (site, row) in zip(named, recording.sites.rows) {
        let (count, bytes) = site.tally.weight(of: lifespan)
        let frames = matching == .stack ? Array(site.frames.reversed()) : []
        let key = Key(type: site.type, kind: row.type.kind, stack: frames.map { "\($0.function) [\($0.module)]" })
        let weight = CallWeight(count: count, bytes: bytes)
        found[key, default: Row(key: key, frames: frames)].add(weight, isBase)
        total.add(weight, isBase)
      }
    }
    self.total = total
    rows = found.values.sorted { one, other in
      let left = (other.bytes.magnitude, other.count.magnitude, one.key.type)
      let right = (one.bytes.magnitude, one.count.magnitude, other.key.type)
      return left == right ? one.key.stack.lexicographicallyPrecedes(other.key.stack) : left < right
    }
  }

  /// Why the two are no like things; empty: they are.
  public static func differences(
    _ base: TraceInformation, _ candidate: TraceInformation, by matching: Matching
  ) -> [String] {
    var found: [String] = []
    func compare(_ what: String, _ one: String, _ other: String) {
      if one != other { found.append("\(what) \(one) against \(other)") }
    }
    compare("capture", base.effectiveCapture.rawValue, candidate.effectiveCapture.rawValue)
    compare("recorded types", base.recordedTypes, candidate.recordedTypes)
    compare("blocks of malloc", base.recordsMalloc ? "all" : "none", candidate.recordsMalloc ? "all" : "none")
    compare("regions", base.recordsRegions ? "all" : "none", candidate.recordsRegions ? "all" : "none")
    if matching == .stack { compare("unwinding", base.unwind, candidate.unwind) }
    for (name, information) in [("the base", base), ("the candidate", candidate)] where information.lost.total > 0 {
      found.append("\(name) lost \(Units.count(information.lost.total)) events")
    }
    return found
  }
}

extension Comparison.Row {
  fileprivate mutating func add(_ weight: CallWeight, _ isBase: Bool) {
    if isBase {
      base += weight
    } else {
      candidate += weight
    }
  }
}

extension TraceInformation {
  /// Which types were recorded, as the recording says.
  fileprivate var recordedTypes: String { info["recording"] ?? "all" }
}
