// `lifespan objects`: the single objects of some types.
import LifespanAnalysis
import LifespanReport
import LifespanTrace

enum ObjectsCommand {
  static let spec = CommandSpec(
    name: "objects", usage: "[TRACE] [--type T] [options]",
    summary: "the single objects: where, when, how large, by whom",
    operands: .count(0...1), options: options, discussion: { discussion }, run: run)

  private static let options =
    [
      .flag("--idle", help: "for how long nobody has retained or released them, longest first"),
      ReadingOption.lifespan, ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath,
      ReadingOption.sysroot,
    ] + ReadingOption.types + ReadingOption.window + ReadingOption.table

  /// Rows of a table that nobody limited: a recording has millions of objects.
  private static let usualLimit = 100

  private static var discussion: String {
    """
    A table shows \(usualLimit) objects unless --limit says otherwise; json and csv show all.
    Counts and --idle need their retains and releases (record --events refcounts, or tracked types).
    \(ReadingOption.traceParagraph)
    \(ReadingOption.columnsParagraph(ObjectsReport.columnKeys))
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    var options = try ReadingOptions(arguments, columnKeys: ObjectsReport.columnKeys)
    let isForReading = options.report.format == .table || options.report.format == .markdown
    if options.report.limit == nil, isForReading { options.report.limit = usualLimit }
    if arguments.has("--idle"), options.report.sort == nil { options.report.sort = "idle_ns" }
    let recording = try OpenedRecording(arguments.operands.first, options)
    let window = try recording.window(arguments)
    let list = try recording.analysis.answer(
      ObjectsQuestion(
        types: options.types, lifespan: options.lifespan, window: window,
        // Another order than that of births needs them all.
        limit: options.report.sort == nil ? options.report.limit : nil))
    let subject = try recording.subject(window, countsDiscarded: false)
    let report = ObjectsReport(
      list, subject: subject, names: recording.names,
      isFiltered: options.isFiltered || window != .whole, showsIdle: arguments.has("--idle"))
    recording.print("", options.report, subject)
    report.write(options.report) { StandardStreams.printText($0) }
    return .success
  }
}
