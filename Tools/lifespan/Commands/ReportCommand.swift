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
    .option("--objects", value: "N", help: "so many single objects at most; default 100000, 0 for none"),
    OpenedHeap.pictureOption, ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath,
    ReadingOption.sysroot, ReadingOption.mallocBy,
  ]

  private static var discussion: String {
    """
    The page shows what the other reports do, with the same figures: living bytes and objects over time with
    the marks, statistics, generations down to types and stacks, a flame graph, single objects with their
    history, threads, resident memory, and, where the trace has a picture of the heap (record --leaks), leaks
    and holders. It is one file without connections to anywhere: whatever opens HTML opens it.
    Of more living objects than --objects the newest of each type are listed, of destroyed ones the first, a
    tenth as many; the page says so. Its other figures are of all.
    \(ReadingOption.traceParagraph)
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    guard let output = arguments.value("-o") else { throw UsageError.missingOperand("-o FILE.html") }
    let options = try ReadingOptions(arguments, columnKeys: [])
    let limit = try arguments.value("--objects", expected: "a number of objects") {
      ValueParser.count($0).flatMap { Int(exactly: $0) }
    }
    let recording = try OpenedRecording(arguments.operands.first, options)
    let heap = try OpenedHeap.heap(of: recording, picture: try OpenedHeap.picture(arguments))
    var facts = try facts(recording.analysis, objects: limit ?? 100_000)
    facts.heap = heap
    if let heap { facts.holders = PageHolders.all(heap, facts.statistics, names: recording.names) }
    let page = PageReport(facts, subject: try recording.subject(), names: recording.names)
    let bytes = page.html(PageCode.viewer)
    if output == "-" {
      StandardStreams.printBytes(bytes)
    } else {
      try TextFile.write(bytes, to: output)
    }
    return .success
  }

  /// All of it in one pass over the events, and one more for what happened to the single objects.
  private static func facts(_ analysis: Analysis, objects limit: Int) throws -> PageReport.Facts {
    let (statistics, generations, sites, curve, threads, living, destroyed) = try analysis.answer(
      StatisticsQuestion(lifespan: .all), GenerationsQuestion(lifespan: .all), GenerationSitesQuestion(),
      LivingCurveQuestion(), ThreadsQuestion(), ObjectsQuestion(lifespan: .living, limit: limit > 0 ? nil : 0),
      ObjectsQuestion(lifespan: .destroyed, limit: limit / 10))
    var facts = PageReport.Facts(
      statistics: statistics, generations: generations, sites: sites, curve: curve, threads: threads,
      samples: analysis.residentSamples, resident: analysis.residentMemory)
    guard limit > 0 else { return facts }
    var objects = PageObjects(living: living, destroyed: destroyed, limit: limit)
    objects.histories = try analysis.answer(objects.question)
    facts.objects = objects
    return facts
  }
}
