// `lifespan stats`: one row a type. Also called by `record --stats`.
import LifespanAnalysis
import LifespanReport

enum StatsCommand {
  static let spec = CommandSpec(
    name: "stats", usage: "[TRACE] [options]", summary: "statistics by type for All / Living / Destroyed",
    operands: .count(0...1), options: options, discussion: { discussion }, run: run)

  private static let options =
    [ReadingOption.lifespan, ReadingOption.markAt, ReadingOption.symbols] + ReadingOption.types + ReadingOption.window
    + ReadingOption.table

  private static var discussion: String {
    ReadingOption.traceParagraph + "\n" + ReadingOption.columnsParagraph(StatisticsReport.columnKeys)
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: StatisticsReport.columnKeys)
    let recording = try OpenedRecording(arguments.operands.first, options)
    let wanted = (options.report.columns ?? []) + [options.report.sort].compactMap { $0 }
    let window = try recording.window(arguments)
    let statistics = try recording.analysis.answer(
      StatisticsQuestion(
        lifespan: options.lifespan, types: options.types, window: window,
        countsTemporary: wanted.contains("temporary_count"),
        // A document has them always.
        countsReferences: options.report.format == .json
          || wanted.contains(where: StatisticsReport.referenceKeys.contains)))
    let subject = try recording.subject(window)
    let report = StatisticsReport(
      statistics, subject: subject, names: recording.names,
      isFiltered: options.isFiltered, resident: recording.analysis.residentMemory)
    recording.print(report.render(options.report), options.report, subject)
    return .success
  }
}
