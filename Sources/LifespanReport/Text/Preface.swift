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

  /// A recording, finished and whole unless said otherwise.
  public init(_ information: TraceInformation, isRunning: Bool = false, discarded: UInt64 = 0) {
    self.information = information
    self.isRunning = isRunning
    self.discarded = discarded
  }
}

/// The first lines of a report, and the same facts for JSON.
public enum Preface {
  /// Everything that makes the numbers less than complete, one sentence each, the worst first.
  public static func notes(_ subject: ReportSubject) -> [String] {
    let information = subject.information
    var notes: [String] = []
    if information.capture != .complete {
      let word = information.capture == .none ? "not said by the recorder" : information.capture.rawValue
      let reason = information.captureReason
      notes.append("capture: \(word)" + (reason.isEmpty ? "" : ": \(reason)"))
    }
    if information.lost.total > 0 { notes.append(lost(information)) }
    let ending = information.ending.sentence
    // A file that is being written has no end yet; that is no fault of it.
    if !ending.isEmpty, !subject.isRunning { notes.append("trace: " + ending) }
    if information.wasPaused { notes.append("paused: objects born while recording was off are not in it") }
    if information.olderEventsDropped > 0 {
      notes.append("older events of kept objects are not in this file: \(Units.count(information.olderEventsDropped))")
    }
    if subject.discarded > 0 {
      notes.append(
        "\(Units.things(subject.discarded, "object")) that died \(was(subject.discarded)) discarded while recording: "
          + "counted by type, not listed, without history")
    }
    if information.endsNotSeen > 0 {
      notes.append(
        "\(Units.things(information.endsNotSeen, "object")) ended without being seen, in memory that was used again")
    }
    if information.stacksFull > 0 {
      let stacks = information.stacksFull
      notes.append("\(Units.things(stacks, "stack")) \(was(stacks)) not kept: the table of stacks was full")
    }
    return notes
  }

  /// The notes, then one line that says which recording this is.
  static func lines(_ subject: ReportSubject, style: TextStyle) -> [String] {
    notes(subject).flatMap { style.warning($0) } + [headline(subject), ""]
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

  /// What has no place in a format of rows alone: the notes, and that the recording still runs.
  public static func asides(_ subject: ReportSubject) -> [String] {
    notes(subject) + [asOf(subject)].compactMap { $0.map { "the recording runs: \($0)" } }
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
      "format": .integer(1), "capture": .string(information.capture.rawValue),
      "program": .string(programName(information)), "pid": .unsigned(UInt64(information.pid)),
      "started_at": .string(information.startedAt),
    ]).members
  }

  /// The members that say what is missing.
  static func jsonEvents(_ subject: ReportSubject) -> [JSONValue.Member] {
    let information = subject.information
    return JSONValue.pairs([
      "events": .pairs([
        "recorded": .unsigned(information.eventsRecorded), "lost": .unsigned(information.lost.total),
      ]),
      "end_ns": .integer(information.end.rawValue), "running": .bool(subject.isRunning),
      "notes": .array(notes(subject).map { .string($0) }),
    ]).members
  }

  private static func was(_ number: UInt64) -> String { number == 1 ? "was" : "were" }

  private static func lost(_ information: TraceInformation) -> String {
    let lost = information.lost
    var text = "\(Units.things(lost.total, "event")) \(was(lost.total)) lost (\(Units.things(lost.births, "birth")), "
    text += "\(Units.things(lost.deaths, "death")), \(Units.things(lost.others, "other"))): "
    text += "the numbers below are too small"
    guard let first = information.gaps.map(\.from).min(), let last = information.gaps.map(\.to).max() else {
      return text
    }
    return text + "; between \(Units.seconds(first.rawValue)) and \(Units.seconds(last.rawValue))"
  }
}
