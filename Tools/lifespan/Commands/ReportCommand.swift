// `lifespan report`: one HTML page that needs nothing else.
import LifespanAnalysis
import LifespanReport
import LifespanTrace

enum ReportCommand {
  static let spec = CommandSpec(
    name: "report", usage: "[TRACE] -o FILE.html [options]", summary: "one self-contained page to look at and to send",
    operands: .count(0...1), options: options, discussion: { discussion }, run: run)

  private static let options: [OptionSpec] = [
    .option("-o", "--output", value: "FILE", help: "where to write it; - is the standard output"),
    ReadingOption.markAt, ReadingOption.symbols, ReadingOption.mallocBy,
  ]

  private static var discussion: String {
    """
    The page shows what the other reports do, with the same figures: living bytes and objects over time with
    the marks, statistics, generations down to types and stacks, a flame graph, threads, and resident memory.
    It is one file without connections to anywhere: whatever opens HTML opens it.
    \(ReadingOption.traceParagraph)
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    guard let output = arguments.value("-o") else { throw UsageError.missingOperand("-o FILE.html") }
    let options = try ReadingOptions(arguments, columnKeys: [])
    let recording = try OpenedRecording(arguments.operands.first, options)
    // All of it in one pass over the events.
    let (statistics, generations, sites, curve, threads) = try recording.analysis.answer(
      StatisticsQuestion(lifespan: .all), GenerationsQuestion(lifespan: .all), GenerationSitesQuestion(),
      LivingCurveQuestion(), ThreadsQuestion())
    let facts = PageReport.Facts(
      statistics: statistics, generations: generations, sites: sites, curve: curve, threads: threads,
      samples: recording.analysis.residentSamples, resident: recording.analysis.residentMemory)
    let page = PageReport(facts, subject: try recording.subject(), names: recording.names)
    let bytes = page.html(PageCode.viewer)
    if output == "-" {
      StandardStreams.printBytes(bytes)
    } else {
      try TextFile.write(bytes, to: output)
    }
    return .success
  }
}
