// An opened trace with all that a report needs of it: questions, names, what is said first. Used by reading subcommands.
import LifespanAnalysis
import LifespanReport
import LifespanTrace

/// A trace, ready to be asked.
struct OpenedRecording {
  let analysis: Analysis
  let names: ReportNames
  private let isRunning: Bool

  /// Opens what TRACE means.
  init(_ typed: String?, laterMarks: [LaterMark] = []) throws {
    let operand = try TraceOperand(typed)
    let trace = try Trace(path: operand.path)
    let names = ReportNames(stacks: TraceStacks(trace))
    self.names = names
    isRunning = operand.isRunning
    analysis = Analysis(trace, laterMarks: laterMarks, closureName: { names.closureName(madeAt: $0) })
  }

  /// What the report is about. Asked after the questions it costs nothing.
  func subject() throws -> ReportSubject {
    let discarded = analysis.trace.totals.reduce(0) { $0 &+ $1.births }
    return ReportSubject(try analysis.information(), isRunning: isRunning, discarded: discarded)
  }

  /// Prints a report. What CSV can't hold goes to stderr: what is missing in the recording.
  func print(_ text: String, _ options: ReportOptions) throws {
    if options.format == .csv {
      for note in Preface.notes(try subject()) { StandardStreams.errorLine("lifespan: " + note) }
    }
    StandardStreams.printText(text)
  }

  /// The moment that MARK or TIME means; a mark that is called like a time is the mark.
  func moment(_ text: String) throws -> Moment {
    let marks = try analysis.information().marks
    if !marks.contains(where: { $0.name == text }), let time = ValueParser.time(text).flatMap({ Int64(exactly: $0) }) {
      return .time(TraceTime(time))
    }
    return .mark(text)
  }

  /// `--from` and `--to`.
  func window(_ arguments: ParsedArguments) throws -> TimeWindow {
    TimeWindow(from: try arguments.value("--from").map(moment), to: try arguments.value("--to").map(moment))
  }
}
