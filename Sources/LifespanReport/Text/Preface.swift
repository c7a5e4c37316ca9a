// What every report says before its first row: what is missing in the recording, then which recording it is.
import LifespanAnalysis
import LifespanTrace

/// The first lines of a report, and the same facts for JSON.
public enum Preface {
  /// Everything that makes the numbers less than complete, one sentence each, the worst first.
  public static func notes(_ information: TraceInformation) -> [String] {
    var notes: [String] = []
    if information.capture != .complete {
      let word = information.capture == .none ? "not said by the recorder" : information.capture.rawValue
      let reason = information.captureReason
      notes.append("capture: \(word)" + (reason.isEmpty ? "" : ": \(reason)"))
    }
    if information.lost.total > 0 { notes.append(lost(information)) }
    let ending = information.ending.sentence
    if !ending.isEmpty { notes.append("trace: " + ending) }
    if information.wasPaused { notes.append("paused: objects born while recording was off are not in it") }
    if information.endsNotSeen > 0 {
      notes.append(
        "\(Units.count(information.endsNotSeen)) objects ended without being seen: their addresses were used again")
    }
    if information.stacksFull > 0 {
      notes.append("\(Units.count(information.stacksFull)) stacks were not kept: the table of stacks was full")
    }
    return notes
  }

  /// The notes, then one line that says which recording this is.
  static func lines(_ information: TraceInformation, style: TextStyle) -> [String] {
    notes(information).flatMap { style.warning($0) } + [headline(information), ""]
  }

  /// `App (pid 7): 12.400 s, 1,204,331 events, 0 lost`.
  static func headline(_ information: TraceInformation) -> String {
    "\(programName(information)) (pid \(information.pid)): \(Units.seconds(information.end.rawValue)), "
      + "\(Units.count(information.eventsRecorded)) events, \(Units.count(information.lost.total)) lost"
  }

  /// The last part of the program's path.
  static func programName(_ information: TraceInformation) -> String {
    information.program.split(separator: "/").last.map(String.init) ?? "unknown program"
  }

  /// The members with which every document begins.
  static func jsonHead(_ information: TraceInformation) -> [JSONValue.Member] {
    JSONValue.pairs([
      "format": .integer(1), "capture": .string(information.capture.rawValue),
      "program": .string(programName(information)), "pid": .unsigned(UInt64(information.pid)),
      "started_at": .string(information.startedAt),
    ]).members
  }

  /// The members that say what is missing.
  static func jsonEvents(_ information: TraceInformation) -> [JSONValue.Member] {
    JSONValue.pairs([
      "events": .pairs([
        "recorded": .unsigned(information.eventsRecorded), "lost": .unsigned(information.lost.total),
      ]),
      "notes": .array(notes(information).map { .string($0) }),
    ]).members
  }

  private static func lost(_ information: TraceInformation) -> String {
    let lost = information.lost
    var text = "\(Units.count(lost.total)) events were lost (\(Units.count(lost.births)) births, "
    text += "\(Units.count(lost.deaths)) deaths, \(Units.count(lost.others)) others): the numbers below are too small"
    guard let first = information.gaps.map(\.from).min(), let last = information.gaps.map(\.to).max() else {
      return text
    }
    return text + "; between \(Units.seconds(first.rawValue)) and \(Units.seconds(last.rawValue))"
  }
}
