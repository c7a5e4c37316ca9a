// What every report says before its first row: what is missing in the recording, then which recording it is.
import LifespanAnalysis
import LifespanTrace

/// The recording that a report is about.
public struct ReportSubject: Sendable {
  /// What is known of it.
  public var information: TraceInformation
  /// It still goes on: the report shows what is published by now.
  public var isRunning: Bool
  /// Objects that died and were discarded while recording: counted, but not to be listed.
  public var discarded: UInt64
  /// They are in the report's counts; not in one that looks at a stretch of the recording or at its marks.
  public var countsDiscarded: Bool
  /// Names in the question that several marks have.
  public var ambiguousMarks: [AmbiguousMark]
  /// The moment at which it ends, where that is the one of most living bytes.
  public var peak: Peak?

  /// A recording, finished and whole unless said otherwise.
  public init(
    _ information: TraceInformation, isRunning: Bool = false, discarded: UInt64 = 0,
    countsDiscarded: Bool = true, ambiguousMarks: [AmbiguousMark] = [], peak: Peak? = nil
  ) {
    self.peak = peak
    self.ambiguousMarks = ambiguousMarks
    self.information = information
    self.isRunning = isRunning
    self.discarded = discarded
    self.countsDiscarded = countsDiscarded
  }
}

/// The first lines of a report, and the same facts for JSON.
public enum Preface {
  /// The notes, then one line that says which recording this is, then what was checked of it.
  static func lines(_ subject: ReportSubject, style: TextStyle) -> [String] {
    let information = subject.information
    let checked = checkedStacks(
      information.stacksChecked, equal: information.stacksEqual, guessed: information.stacksGuessed)
    return notes(subject).flatMap { style.warning($0) } + [headline(subject)]
      + [peak(subject), checked].compactMap { $0 }
      + [""]
  }

  /// What `record --check-unwind` found; nil where nothing was checked.
  public static func checkedStacks(_ checked: UInt64, equal: UInt64, guessed: UInt64) -> String? {
    guard checked > 0 else { return nil }
    let guesses = guessed > 0 ? ", guessed by it \(Units.count(guessed))" : ""
    return "stacks checked against libunwind: \(Units.count(checked)), equal \(Units.count(equal))" + guesses
  }

  /// `App (pid 7): 12.400 s, 1,204,331 events, 0 lost`.
  static func headline(_ subject: ReportSubject) -> String {
    let information = subject.information
    let time = asOf(subject) ?? Units.seconds(information.end.rawValue)
    return "\(programName(information)) (pid \(information.pid)): \(time), "
      + "\(Units.things(information.eventsRecorded, "event")), \(Units.count(information.lost.total)) lost"
  }

  /// `as of 12.4 s`, of a recording that runs; nil of one that has ended.
  static func asOf(_ subject: ReportSubject) -> String? {
    subject.isRunning ? "as of " + Units.tenths(subject.information.end.rawValue) : nil
  }

  /// What has no place in a format of rows alone: the notes, that the recording still runs, and the peak's moment.
  public static func asides(_ subject: ReportSubject) -> [String] {
    notes(subject) + [asOf(subject)].compactMap { $0.map { "the recording runs: \($0)" } }
      + [peak(subject)].compactMap { $0 }
  }

  /// Which moment is shown, where it is the peak; nil else.
  static func peak(_ subject: ReportSubject) -> String? {
    guard let peak = subject.peak else { return nil }
    let when =
      peak.events == .max
      ? "the end" : "\(Units.moment(peak.time.rawValue)), after event \(Units.count(peak.events))"
    return "at the peak of the heap: \(when), \(Units.bytes(peak.livingBytes.rawValue)) in "
      + Units.things(peak.livingCount, "object")
      + (subject.discarded > 0 ? "; of what was discarded before nobody knows" : "")
  }

  /// The same as a document's member.
  private static func jsonPeak(_ subject: ReportSubject) -> [JSONValue.Member] {
    guard let peak = subject.peak else { return [] }
    return [
      .init(
        key: "peak",
        value: .pairs([
          "time_ns": .integer(peak.time.rawValue),
          "events": .unsigned(min(peak.events, subject.information.eventsRecorded)),
          "living_count": .integer(Int64(peak.livingCount)), "living_bytes": .integer(peak.livingBytes.rawValue),
        ]))
    ]
  }

  /// The last part of the program's path.
  static func programName(_ information: TraceInformation) -> String {
    information.program.split(separator: "/").last.map(String.init) ?? "unknown program"
  }

  /// The last lines of a report: what kept frames in it from being named.
  static func closing(_ names: ReportNames, style: TextStyle) -> [String] {
    let notes = names.notes.flatMap { style.warning($0) }
    return notes.isEmpty ? [] : [""] + notes
  }

  /// The same as a document's last member. To be asked after all names.
  static func jsonClosing(_ names: ReportNames) -> [JSONValue.Member] {
    [.init(key: "symbol_notes", value: .array(names.notes.map { .string($0) }))]
  }

  /// The members with which every document begins.
  static func jsonHead(_ subject: ReportSubject) -> [JSONValue.Member] {
    let information = subject.information
    return JSONValue.pairs([
      "format": .integer(1), "capture": .string(information.effectiveCapture.rawValue),
      "program": .string(programName(information)), "pid": .unsigned(UInt64(information.pid)),
      "started_at": .string(information.startedAt),
    ]).members
  }

  /// What was taken out of the trace while it was recorded, or null.
  private static func discarded(_ information: TraceInformation) -> JSONValue {
    guard let discarded = information.discarded else { return .null }
    return .pairs([
      "by": .string(discarded.by), "before_ns": .integer(discarded.before.rawValue),
      "objects": .unsigned(discarded.objects), "events": .unsigned(discarded.events),
    ])
  }

  /// The members that say what is missing.
  static func jsonEvents(_ subject: ReportSubject) -> [JSONValue.Member] {
    let information = subject.information
    return JSONValue.pairs([
      "events": .pairs([
        "recorded": .unsigned(information.eventsRecorded), "lost": .unsigned(information.lost.total),
        "lost_births": .unsigned(information.lost.births), "lost_deaths": .unsigned(information.lost.deaths),
        "unknown_deaths": .unsigned(information.unknownDeaths), "ends_not_seen": .unsigned(information.endsNotSeen),
      ]),
      "discarded": discarded(information), "end_ns": .integer(information.end.rawValue),
      "running": .bool(subject.isRunning),
      "notes": .array(notes(subject).map { .string($0) }),
    ]).members + jsonPeak(subject)
  }
}
