// `lifespan export`: what a trace holds in another program's format.
import FoundationEssentials
import LifespanAnalysis
import LifespanHeap
import LifespanReport
import LifespanTrace

enum ExportCommand {
  static let spec = CommandSpec(
    name: "export", usage: "[TRACE] --format FORMAT -o FILE [options]",
    summary: "stacks, leaks and paths to objects, for other programs", operands: .count(0...1), options: options,
    discussion: { discussion }, run: run)

  private static let formats = [
    "pprof", "collapsed", "speedscope", "heaptrack", "json", "csv", "markdown", "dot",
  ]

  private static let options: [OptionSpec] =
    [
      .choice("--format", of: formats, help: "whose format"),
      .option("-o", "--output", value: "FILE", help: "where to write it; - is the standard output"),
      .choice(
        "--lifespan", of: ["all", "living", "destroyed"], help: "of formats with one number: which; default living"),
      .choice("--weight", of: ExportWeight.allCases.map(\.rawValue), help: "collapsed: what is counted; default bytes"),
      .option("--of", value: "ADDRESS|@SERIAL|TYPE", help: "dot: all paths to these objects instead of leaks"),
      OpenedHeap.pictureOption, ReadingOption.symbols, ReadingOption.debugPath, ReadingOption.sysroot,
      ReadingOption.markAt,
      .option("--limit", value: "N", help: "csv: so many lines; markdown: types; dot: paths; default all, 20, 20"),
    ] + ReadingOption.types + ReadingOption.window

  private static var discussion: String {
    """
    pprof (for `go tool pprof`) holds all objects and living ones, by bytes and by number, with types and
    generations as labels (-tagfocus generation=NAME). collapsed is what flame graph programs read,
    speedscope what https://www.speedscope.app opens.
    heaptrack, for heaptrack_gui and heaptrack_print, holds every allocation and free, with the type as the
    innermost function; a realloc counts as both, as there. Compressed where FILE ends in .gz.
    json and csv hold what each stack allocated of each type in each generation, json with whole stacks,
    csv for spreadsheets: a name that would be a formula there gets an apostrophe before it. markdown is
    the table of the largest types, for a pull request.
    dot needs a picture of the heap (record --leaks). It draws the cycles of all leaks and the path
    from a root to each abandoned type: `dot -Tsvg FILE -o leaks.svg`.
    \(ReadingOption.traceParagraph)
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    guard let format = arguments.value("--format") else {
      throw UsageError.missingOperand("--format " + formats.joined(separator: "|"))
    }
    guard let output = arguments.value("-o") else { throw UsageError.missingOperand("-o FILE") }
    var plain = arguments
    // It is no report's format.
    plain.given.removeAll { $0.name == "--format" }
    let options = try ReadingOptions(plain, columnKeys: [])
    let bytes: [UInt8]
    switch format {
    case "dot": bytes = Array(try dot(arguments, options).utf8)
    case "heaptrack":
      let plain = try heaptrack(arguments, options)
      bytes = output.hasSuffix(".gz") ? try GzipFile.bytes(of: plain) : plain
    case "json", "csv", "markdown": bytes = Array(try sites(format, arguments, options).utf8)
    default: bytes = try stacks(format, arguments, options)
    }
    if output == "-" {
      StandardStreams.printBytes(bytes)
    } else {
      try TextFile.write(bytes, to: output)
    }
    return .success
  }

  private static func dot(_ arguments: ParsedArguments, _ options: ReadingOptions) throws -> String {
    let selector = try arguments.value("--of").map(OpenedHeap.selector)
    let opened = try OpenedHeap(arguments.operands.first, options, picture: try OpenedHeap.picture(arguments))
    let names = opened.recording.names
    if let selector {
      let holders = try opened.heap.holders(of: selector, allPaths: true, limit: options.report.limit ?? 20)
      return DotExport(holders, names: names).text
    }
    let subject = try opened.recording.subject(countsDiscarded: false)
    return DotExport(LeaksReport(opened.heap, subject: subject, names: names)).text
  }

  private static func stacks(
    _ format: String, _ arguments: ParsedArguments, _ options: ReadingOptions
  ) throws -> [UInt8] {
    let recording = try OpenedRecording(arguments.operands.first, options)
    let window = try recording.window(arguments)
    // A profile has the numbers of living and of all objects side by side.
    let lifespan = format == "pprof" ? .all : options.lifespan
    let sites = try recording.analysis.answer(
      AllocationSitesQuestion(
        lifespan: lifespan, types: options.types, window: window, split: format == "pprof" ? .generations : []))
    let subject = try recording.subject(window, countsDiscarded: false)
    let information = subject.information
    let bytes: [UInt8]
    switch format {
    case "pprof":
      let start = (try? Date(information.startedAt, strategy: .iso8601))?.timeIntervalSince1970 ?? 0
      let profile = PprofExport(
        sites, start: Int64(start) * 1_000_000_000, duration: information.end.rawValue, names: recording.names,
        information: information)
      bytes = try GzipFile.bytes(of: profile.bytes)
    case "speedscope":
      let name = information.program.split(separator: "/").last.map(String.init) ?? "recording"
      bytes = Array(SpeedscopeExport(sites, name: name, names: recording.names).text.utf8)
    default:
      let weight = arguments.value("--weight").flatMap(ExportWeight.init(rawValue:)) ?? .bytes
      bytes = Array(CollapsedExport(sites, names: recording.names).text(weight).utf8)
    }
    remark(recording, subject)
    return bytes
  }

  private static func sites(
    _ format: String, _ arguments: ParsedArguments, _ options: ReadingOptions
  ) throws -> String {
    let recording = try OpenedRecording(arguments.operands.first, options)
    let window = try recording.window(arguments)
    let (sites, statistics) = try recording.analysis.answer(
      AllocationSitesQuestion(
        lifespan: options.lifespan, types: options.types, window: window, split: .generations),
      StatisticsQuestion(lifespan: options.lifespan, types: options.types, window: window))
    let subject = try recording.subject(window)
    let export = SitesExport(
      sites, statistics, subject: subject, names: recording.names, isFiltered: options.isFiltered)
    switch format {
    case "json": return export.json
    case "csv":
      let text = export.csv(limit: options.report.limit)
      remark(recording, subject)
      return text
    default: return export.markdown(limit: options.report.limit ?? 20)
    }
  }

  private static func heaptrack(_ arguments: ParsedArguments, _ options: ReadingOptions) throws -> [UInt8] {
    for option in ["--from", "--to", "--at-peak", "--lifespan"] where arguments.has(option) {
      throw UsageError.badValue(
        option: option, value: arguments.value(option) ?? "",
        expected: "nothing: heaptrack's format is a whole recording")
    }
    let recording = try OpenedRecording(arguments.operands.first, options)
    var bytes: [UInt8] = []
    let program = try recording.subject().information.program
    _ = try recording.analysis.answer(
      HeaptrackExport(types: options.types, program: program, names: recording.names) { bytes += $0.utf8 })
    remark(recording, try recording.subject(countsDiscarded: false))
    return bytes
  }

  /// These formats have no place for what is missing in a recording, or in its names.
  private static func remark(_ recording: OpenedRecording, _ subject: ReportSubject) {
    for note in Preface.asides(subject) + recording.names.notes { StandardStreams.errorLine("lifespan: " + note) }
  }
}
