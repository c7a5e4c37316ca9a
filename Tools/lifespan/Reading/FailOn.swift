// `--fail-on`: a limit whose passing ends a reading subcommand with status 1. Used by generations, growth, diff and leaks.
import LifespanReport

/// A limit.
enum FailOn: Equatable {
  /// More bytes than this.
  case growthBytes(Int64)
  /// More bytes than this part, in hundredths, of what lived before.
  case growthPercent(Double)
  /// More objects than this.
  case survivors(Int)
  /// More leaks than this.
  case leaked(Int)
  /// More abandoned objects than this.
  case abandoned(Int)

  /// `growth=N%|BYTES` and `survivors[=N]`, as far as the command offers them.
  static func parse(_ arguments: ParsedArguments, offers: [String]) throws -> [FailOn] {
    try arguments.values("--fail-on").map { text in
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      guard let limit = parse(parts[0], parts.count > 1 ? parts[1] : nil), offers.contains(limit.form) else {
        throw UsageError.badValue(option: "--fail-on", value: text, expected: offers.joined(separator: ", "))
      }
      return limit
    }
  }

  /// The form in which the help offers it.
  private var form: String {
    switch self {
    case .growthBytes: return Self.growthBytesForm
    case .growthPercent: return Self.growthPercentForm
    case .survivors: return Self.survivorsForm
    case .leaked: return Self.leakedForm
    case .abandoned: return Self.abandonedForm
    }
  }

  static let growthBytesForm = "growth=BYTES"
  static let growthPercentForm = "growth=N%"
  static let survivorsForm = "survivors[=N]"
  static let leakedForm = "leaked[=N]"
  static let abandonedForm = "abandoned[=N]"

  private static func parse(_ what: String, _ limit: String?) -> FailOn? {
    switch (what, limit) {
    case ("survivors", nil): return .survivors(0)
    case ("leaked", nil): return .leaked(0)
    case ("abandoned", nil): return .abandoned(0)
    case ("survivors", let limit?): return number(limit).map { .survivors($0) }
    case ("leaked", let limit?): return number(limit).map { .leaked($0) }
    case ("abandoned", let limit?): return number(limit).map { .abandoned($0) }
    case ("growth", let limit?) where limit.hasSuffix("%"):
      guard let percent = Double(limit.dropLast()), percent >= 0, percent.isFinite else { return nil }
      return .growthPercent(percent)
    case ("growth", let limit?):
      return ValueParser.bytes(limit).flatMap { Int64(exactly: $0) }.map { .growthBytes($0) }
    default: return nil
    }
  }

  private static func number(_ text: String) -> Int? { ValueParser.count(text).flatMap { Int(exactly: $0) } }

  /// What to say when this much growth, or so many survivors, passes the limit; nil when it does not.
  /// `before`: the bytes of which a percentage is taken; nil where there are none to compare with.
  /// `survived`: what the survivors are, before their number.
  func verdict(growth: Int64, before: Int64?, survivors: Int, of what: String, survived: String) -> String? {
    switch self {
    case .survivors(let limit) where survivors > limit:
      return "\(survived): \(Units.things(survivors, "object")), over \(Units.count(limit))"
    case .growthBytes(let limit) where growth > limit:
      return "\(what) grew by \(Units.bytes(growth)), over \(Units.bytes(limit))"
    case .growthPercent(let percent):
      guard let before, growth > 0, Double(growth) * 100 > percent * Double(before) else { return nil }
      return "\(what) grew by \(Units.bytes(growth))"
        + (before == 0
          ? " from nothing, over \(Self.text(percent))%" : ", over \(Self.text(percent))% of \(Units.bytes(before))")
    default: return nil
    }
  }

  /// `50`, `12.5`.
  private static func text(_ percent: Double) -> String {
    Int(exactly: percent).map { String($0) } ?? String(percent)
  }

  /// A limit must not pass where events are missing from the end on: nobody knows what they would have told.
  static func check(_ limits: [FailOn], against subjects: ReportSubject...) throws {
    guard !limits.isEmpty else { return }
    for subject in subjects where subject.information.isCut && !subject.isRunning {
      throw CommandFailure("--fail-on: can't be told: \(subject.information.ending.sentence)")
    }
  }

  /// Says every verdict on stderr; the status that follows from them.
  static func conclude(_ verdicts: [String]) -> ExitStatus {
    for verdict in verdicts { StandardStreams.errorLine("lifespan: " + verdict) }
    return verdicts.isEmpty ? .success : .limitPassed
  }
}
