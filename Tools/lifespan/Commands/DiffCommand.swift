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
    [ReadingOption.markAt] + ReadingOption.types + ReadingOption.table + [
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
    let recording = try OpenedRecording(typed, laterMarks: options.laterMarks)
    let difference = try recording.analysis.answer(
      DifferenceQuestion(
        from: try recording.moment(moments[0]), to: try recording.moment(moments[1]), types: options.types))
    let report = DifferenceReport(
      difference, subject: try recording.subject(), names: recording.names,
      isFiltered: options.isFiltered)
    try recording.print(report.render(options.report), options.report)
    return FailOn.conclude(limits.compactMap { verdict($0, difference.total) })
  }

  private static func verdict(_ limit: FailOn, _ total: Difference.Change) -> String? {
    limit.verdict(
      growth: (total.new.bytes - total.dead.bytes).rawValue,
      before: (total.survived.bytes + total.dead.bytes).rawValue, survivors: total.new.count, of: "the heap")
  }
}
