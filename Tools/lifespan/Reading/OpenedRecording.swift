// An opened trace with all that a report needs of it: questions, names, what is said first. Used by reading subcommands.
import LifespanAnalysis
import LifespanReport
import LifespanSymbols
import LifespanTrace

/// A trace, ready to be asked.
struct OpenedRecording {
  let analysis: Analysis
  let names: ReportNames
  private let elapsed: UInt64?

  /// Opens what TRACE means.
  init(
    _ typed: String?, laterMarks: [LaterMark] = [], places: SymbolPlaces = SymbolPlaces(), blocksByOwner: Bool = false
  ) throws {
    let operand = try TraceOperand(typed)
    let trace = try operand.open()
    let names = ReportNames(stacks: TraceStacks(trace), places: places)
    self.names = names
    elapsed = operand.elapsed
    // A file without end ends with its last event; the recording knows what time it is.
    analysis = Analysis(
      trace, laterMarks: laterMarks, asOf: elapsed.map { TraceTime(Int64(clamping: $0)) },
      naming: RowNaming(
        function: { names.functionName(at: $0) }, blockOwner: blocksByOwner ? { names.blockOwner(of: $0) } : nil))
  }

  /// Opens what TRACE means, to be asked as the options say.
  init(_ typed: String?, _ options: ReadingOptions) throws {
    try self.init(
      typed, laterMarks: options.laterMarks, places: options.symbols, blocksByOwner: options.blocksByOwner)
  }

  /// What the report is about, and which marks were meant by the names in its question. Asked after the questions it costs
  /// nothing.
  func subject(
    _ window: TimeWindow = .whole, generation: String? = nil, countsDiscarded: Bool? = nil
  ) throws -> ReportSubject {
    let discarded = analysis.trace.totals.reduce(0) { $0 &+ $1.births }
    return ReportSubject(
      try analysis.information(), isRunning: elapsed != nil, discarded: discarded,
      countsDiscarded: countsDiscarded ?? (window == .whole),
      ambiguousMarks: try analysis.ambiguousMarks(in: window, generation: generation), peak: window.peak)
  }

  /// Prints a report. What CSV can't hold goes to stderr: what is missing in the recording.
  func print(_ text: String, _ options: ReportOptions, _ subject: ReportSubject) {
    if options.format == .csv {
      for note in Preface.asides(subject) { StandardStreams.errorLine("lifespan: " + note) }
    }
    StandardStreams.printText(text)
  }

  /// The moment that MARK or TIME means; a mark that is called like a time is the mark.
  func moment(_ text: String) throws -> Moment {
    guard let time = ValueParser.time(text).flatMap({ Int64(exactly: $0) }) else { return .mark(text) }
    let isMark = try analysis.information().marks.contains { $0.name == text }
    return isMark ? .mark(text) : .time(TraceTime(time))
  }

  /// `--from`, `--to` and `--at-peak`, which takes a pass over the events.
  func window(_ arguments: ParsedArguments) throws -> TimeWindow {
    let from = try arguments.value("--from").map(moment)
    guard arguments.has("--at-peak") else {
      return TimeWindow(from: from, to: try arguments.value("--to").map(moment))
    }
    if let to = arguments.value("--to") {
      throw UsageError.badValue(option: "--to", value: to, expected: "nothing, as --at-peak is given")
    }
    return TimeWindow(from: from, to: .peak(try analysis.answer(PeakQuestion(from: from))))
  }
}
