// Pieces that several documents share: a type, a tally, a frame, a stack, a moment.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// `"type"`, `"kind"`, `"module"`.
enum TypeJSON {
  static func members(_ type: TypeIdentity, _ names: ReportNames) -> [JSONValue.Member] {
    JSONValue.pairs([
      "type": .string(names.name(of: type)), "kind": .string(type.kind.description),
      "module": .string(names.module(of: type)),
    ]).members
  }
}

/// The counts of a row; temporary ones where they were asked for.
enum TallyJSON {
  static func members(_ tally: Tally) -> [JSONValue.Member] {
    var members = JSONValue.pairs([
      "persistent_count": .integer(Int64(tally.persistentCount)),
      "persistent_bytes": .integer(tally.persistentBytes.rawValue),
      "transient_count": .integer(Int64(tally.transientCount)),
      "transient_bytes": .integer(tally.transientBytes.rawValue),
      "kept_count": .integer(Int64(tally.keptCount)),
      "kept_bytes": .integer(tally.keptBytes.rawValue),
      "total_count": .integer(Int64(tally.totalCount)),
      "total_bytes": .integer(tally.totalBytes.rawValue),
      "retains": .optional(tally.retains), "releases": .optional(tally.releases), "net": .optional(tally.net),
      "references": .optional(tally.references),
    ]).members
    if let temporary = tally.temporaryCount {
      members.append(.init(key: "temporary_count", value: .integer(Int64(temporary))))
    }
    if let lifetimes = tally.lifetimes {
      members +=
        JSONValue.pairs([
          "lifetime_min_ns": .optional(lifetimes.shortest), "lifetime_median_ns": .optional(lifetimes.median),
          "lifetime_max_ns": .optional(lifetimes.longest),
        ]).members
    }
    return members
  }
}

/// A frame, and the list of a stack's frames.
enum FrameJSON {
  static func value(_ frame: Frame) -> JSONValue {
    .pairs([
      "function": .string(frame.function), "module": .string(frame.module), "file": .optional(frame.file),
      "line": .optional(frame.line.map { UInt64($0) }), "inlined": .bool(frame.inlined),
      "offset": .optional(frame.offset),
    ])
  }

  static func stack(_ id: StackID, _ names: ReportNames) -> JSONValue {
    .array(names.frames(of: id).map(value))
  }
}

/// A moment as the command line writes it.
enum MomentText {
  static func of(_ moment: Moment) -> String {
    switch moment {
    case .mark(let name): return name
    case .time(let time): return Units.seconds(time.rawValue)
    case .peak(let peak): return Units.moment(peak.time.rawValue)
    }
  }
}
