// `lifespan diff`: new, dead and survived between two moments.
import LifespanAnalysis
import LifespanReport
import LifespanTrace

enum DiffCommand {
  static let spec = CommandSpec(
    name: "diff", usage: "[TRACE] FROM TO [options]", summary: "new / dead / survived between two marks",
    operands: .count(2...3), options: options, discussion: { discussion }, run: run)

  private static let offers = [FailOn.growthBytesForm, FailOn.growthPercentForm, FailOn.survivorsForm]

  private static let options: [OptionSpec] =
    [ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath, ReadingOption.sysroot] + ReadingOption.types
    + ReadingOption.table + [
      .option(
        "--fail-on", value: offers.joined(separator: "|"), repeatable: true,
        help: "status 1 when the new bytes less the dead ones, or the new objects, are more than that; "
          + "N% is of what lived at FROM")
    ]

  private static var discussion: String {
    """
    FROM and TO are marks, or times since the start (12.5s, 850ms, 2m).
    \(ReadingOption.traceParagraph)
    \(ReadingOption.columnsParagraph(DifferenceReport.columnKeys))
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: DifferenceReport.columnKeys)
    let limits = try FailOn.parse(arguments, offers: offers)
    let typed = arguments.operands.count == 3 ? arguments.operands.first : nil
    let moments = arguments.operands.suffix(2).map { $0 }
    if typed == nil { try checkMoments(moments[0], options.laterMarks) }
    let recording = try OpenedRecording(typed, options)
    let window = TimeWindow(from: try recording.moment(moments[0]), to: try recording.moment(moments[1]))
    let difference = try recording.analysis.answer(
      DifferenceQuestion(
        from: window.from ?? .time(.start), to: window.to ?? .time(.start), types: options.types))
    let subject = try recording.subject(window)
    let report = DifferenceReport(
      difference, subject: subject, names: recording.names, isFiltered: options.isFiltered)
    recording.print(report.render(options.report), options.report, subject)
    try FailOn.check(limits, against: subject)
    return FailOn.conclude(limits.compactMap { verdict($0, difference, to: moments[1]) })
  }

  /// Of two words the first may be a TRACE, with TO forgotten; unless it is a mark of the newest trace.
  private static func checkMoments(_ first: String, _ laterMarks: [LaterMark]) throws {
    guard ValueParser.count(first) != nil || TraceOperand.isFile(first) else { return }
    let newest = try? OpenedRecording(nil, laterMarks: laterMarks).analysis.information()
    if newest?.marks.contains(where: { $0.name == first }) == true { return }
    throw UsageError.missingOperand("TRACE FROM TO, and TO is missing")
  }

  /// Tokens are no bytes of the heap, but they survive as objects do.
  private static func verdict(_ limit: FailOn, _ difference: Difference, to: String) -> String? {
    let total = difference.total
    return limit.verdict(
      growth: (total.new.bytes - total.dead.bytes).rawValue,
      before: (total.survived.bytes + total.dead.bytes).rawValue,
      survivors: difference.survivors,
      of: "the heap", survived: "new and living at \(to)")
  }
}
