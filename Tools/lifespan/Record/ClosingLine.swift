// The one line on stderr after the program: what was recorded, or why nothing was. Used by RecordCommand.

import Glibc
import LifespanReport

enum ClosingLine {
  /// `warned`: the line before the program has said already why nothing can be recorded.
  static func text(
    _ finished: [FinishedRecording], problems: [String], program: String, warned: Bool
  ) -> String? {
    let traces = finished.filter(\.began)
    guard !traces.isEmpty else {
      return warned ? nil : "lifespan: nothing recorded: " + reason(finished, problems, program)
    }
    let unwritten = traces.reduce(0) { $0 + $1.counts.unwritten }
    let events = traces.reduce(0) { $0 + $1.counts.events } &- unwritten
    let lost = traces.reduce(0) { $0 + $1.counts.lost + $1.counts.suppressed }
    var line = names(traces)
    line += ": \(Units.things(events, "event")), \(Units.count(lost)) lost"
    if unwritten > 0 { line += ", \(Units.count(unwritten)) not written" }
    let unseen = traces.reduce(0) { $0 + $1.counts.ends_not_seen }
    if unseen > 0 { line += ", \(Units.things(unseen, "object")) ended unseen" }
    let misuses = traces.reduce(0) { $0 + $1.counts.misuses }
    if misuses > 0 { line += ", \(Units.things(misuses, "misuse")) of objects that were over" }
    let checked = traces.reduce(0) { $0 + $1.stacksChecked }
    let equal = traces.reduce(0) { $0 + $1.stacksEqual }
    let guessed = traces.reduce(0) { $0 + $1.stacksGuessed }
    if let stacks = Preface.checkedStacks(checked, equal: equal, guessed: guessed) { line += ", " + stacks }
    line += traces.lazy.compactMap(\.limitation).first.map { ", capture \($0)" } ?? ""
    if traces.allSatisfy(\.blocksAlone) { line += ", no Swift runtime: malloc blocks only" }
    if let missing = traces.lazy.compactMap(\.unpictured).first { line += ", no picture of the heap: \(missing)" }
    line += "."
    if let broken = traces.first(where: { $0.error != 0 }) {
      return line + " \(broken.path) is cut: \(SystemError.text(broken.error))."
    }
    if let gone = traces.first(where: \.isGone) {
      return line + " \(gone.path) is gone: it was removed or renamed while it was written."
    }
    if let grown = traces.first(where: { $0.unbounded != 0 }) {
      return line + " \(grown.path) was kept as it is: \(reason(grown.unbounded))."
    }
    if let problem = problems.first { line += " Not recorded: \(problem)." }
    return line + " Next: lifespan stats" + (traces.last.map { argument($0.path) } ?? "")
  }

  /// All of them, or of very many the first and the number.
  private static func names(_ traces: [FinishedRecording]) -> String {
    guard traces.count > 4, let first = traces.first else { return traces.map(\.path).joined(separator: ", ") }
    return "\(first.path) and \(Units.count(UInt64(traces.count - 1))) more traces"
  }

  /// Why the trace could not be made anew.
  private static func reason(_ error: Int32) -> String {
    error == ESTALE || error == ENOENT
      ? "it was moved or replaced while it was recorded" : "no file could take its place: " + SystemError.text(error)
  }

  private static func reason(_ finished: [FinishedRecording], _ problems: [String], _ program: String) -> String {
    if let problem = problems.first { return problem }
    if let ended = finished.first {
      return ended.program + (ended.limitation.map { ": " + $0 } ?? " ended before its recorder began")
    }
    return "\(program) has no Swift runtime, nor has a program that it started"
  }

  /// `stats` alone takes the newest trace here; elsewhere the name must be typed.
  private static func argument(_ path: String) -> String {
    path.contains("/") || !path.hasSuffix(".lifespan") ? " " + ShellWord.quoted(path) : ""
  }
}
