// `lifespan history`: one object's events with counts and backtraces.
import LifespanAnalysis
import LifespanReport
import LifespanTrace

enum HistoryCommand {
  static let spec = CommandSpec(
    name: "history", usage: "[TRACE] ADDRESS|@SERIAL [options]",
    summary: "one object's alloc/retain/release/dealloc with counts and backtraces", operands: .count(1...2),
    options: options, discussion: { discussion }, run: run)

  private static let options: [OptionSpec] = [
    .choice(
      "--group", of: ["time", "backtrace"],
      help: "events in their order, or by the backtrace that they have; default time"),
    .flag("--backtraces", help: "a backtrace below each event"),
    .flag("--unpaired", help: "retains without a release, and who is likely to hold them"),
    .flag("--last-release", help: "the release that began its deinit: where it died"),
    .option("--from", value: "MARK|TIME", help: "only events after it; TIME as 12.5s, 850ms, 2m since the start"),
    ReadingOption.to, ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath, ReadingOption.sysroot,
    .json,
    .choice("--format", of: ["table", "json"], help: "default table"),
    .option("--limit", value: "N", help: "so many events at most"), ReadingOption.color,
  ]

  private static var discussion: String {
    """
    By ADDRESS (0x…) it is the newest object that lay there; the others are named by their @SERIAL.
    --unpaired pairs releases with retains by their stacks: the same functions, the same function of
    the program's own, the same type, caller and callee, the same kind of container.
    \(ReadingOption.traceParagraph)
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: [])
    let typed = arguments.operands.count == 2 ? arguments.operands.first : nil
    try TraceOperand.checkQuestion(arguments.operands, is: "ADDRESS|@SERIAL")
    let selector = try Self.selector(arguments.operands.last ?? "")
    let recording = try OpenedRecording(typed, laterMarks: options.laterMarks, places: options.symbols)
    let window = try recording.window(arguments)
    let view = try view(arguments)
    let history = try recording.analysis.history(of: selector, window: window)
    let subject = try recording.subject(window, countsDiscarded: false)
    let report = HistoryReport(history, subject: subject, names: recording.names, view: view)
    recording.print(report.render(options.report), options.report, subject)
    return .success
  }

  private static func view(_ arguments: ParsedArguments) throws -> HistoryReport.View {
    let asked: [(option: String, view: HistoryReport.View)] = [
      ("--unpaired", .unpaired), ("--last-release", .lastRelease), ("--backtraces", .backtraces),
    ]
    let given = asked.filter { arguments.has($0.option) }
    let groups = arguments.value("--group") == "backtrace"
    if given.count + (groups ? 1 : 0) > 1, let second = groups ? "--group" : given.last?.option {
      throw UsageError.badOperand(second, expected: "one view at a time, not \(given[0].option) too")
    }
    return groups ? .groups : given.first?.view ?? .events
  }

  private static func selector(_ text: String) throws -> ObjectSelector {
    if let serial = ValueParser.serial(text) { return .serial(SerialNumber(serial)) }
    if text.hasPrefix("0x"), let address = UInt64(text.dropFirst(2), radix: 16), address > 0 {
      return .address(ObjectAddress(address))
    }
    throw UsageError.badOperand(text, expected: "an object's address, e.g. 0x7f0012345678, or number, e.g. @12")
  }
}
