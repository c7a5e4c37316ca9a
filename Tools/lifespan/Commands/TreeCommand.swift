// `lifespan tree`: the call tree over allocations.
import LifespanAnalysis
import LifespanReport

enum TreeCommand {
  static let spec = CommandSpec(
    name: "tree", usage: "[TRACE] [options]", summary: "call tree: who allocated, called by whom",
    operands: .count(0...1), options: options, discussion: { discussion }, run: run)

  private static let options =
    [
      ReadingOption.lifespan, .flag("--invert", help: "the functions that allocate first, their callers below"),
      .flag("--hide-system", help: "the program's own functions alone"),
      .choice(
        "--separate-by", of: CallTreeOptions.Separation.allCases.map(\.rawValue), repeatable: true,
        help: "a tree for each type, or for each thread; with both the first is the outermost"),
      .flag("--flatten-recursion", help: "a function that calls itself is one"),
      pattern("--focus", "only what was allocated below these functions; trees begin there"),
      pattern("--prune", "without what was allocated below these functions"),
      pattern("--charge", "without these functions: their callers are charged"),
      .option("--min", value: "PERCENT", help: "functions with less are summed up; default 1, in JSON 0"),
      ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath, ReadingOption.sysroot,
    ] + ReadingOption.types + ReadingOption.window + [
      .json, .choice("--format", of: ["table", "json"], help: "default table"),
      .choice("--sort", of: CallTreeReport.sortKeys, help: "what counts; default bytes"), ReadingOption.limit,
      ReadingOption.color,
    ]

  private static func pattern(_ name: String, _ help: String) -> OptionSpec {
    .option(name, value: "PATTERN", repeatable: true, help: help)
  }

  private static var discussion: String {
    """
    PATTERN is held against a function's name and its module's; * stands for anything. Functions that were
    inlined are shown where the program was built with -g. In the tree of living objects bytes are those that
    were not given back.
    \(ReadingOption.traceParagraph)
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: CallTreeReport.sortKeys)
    let recording = try OpenedRecording(arguments.operands.first, options)
    let window = try recording.window(arguments)
    let usual = options.report.format == .json ? 0 : 10
    let least = try arguments.value("--min", expected: "a number of percent, at most 100, as 5 or 0.5", thousandths)
    var tree = CallTreeOptions()
    tree.isInverted = arguments.has("--invert")
    tree.hidesSystem = arguments.has("--hide-system")
    tree.separation = arguments.values("--separate-by").compactMap(CallTreeOptions.Separation.init(rawValue:))
    tree.flattensRecursion = arguments.has("--flatten-recursion")
    tree.focus = arguments.values("--focus")
    tree.prune = arguments.values("--prune")
    tree.charge = arguments.values("--charge")
    let byThread = tree.separation.contains(.thread)
    let question = AllocationSitesQuestion(
      lifespan: options.lifespan, types: options.types, window: window, split: byThread ? .threads : [])
    let sites: AllocationSites
    var threads: ThreadList?
    if byThread {
      (sites, threads) = try recording.analysis.answer(question, ThreadsQuestion())
    } else {
      sites = try recording.analysis.answer(question)
    }
    let subject = try recording.subject(window, countsDiscarded: false)
    let report = CallTreeReport(
      sites, options: tree, leastShare: least ?? usual, subject: subject, names: recording.names,
      threads: threads)
    recording.print(report.render(options.report), options.report, subject)
    return .success
  }

  /// `5` and `0.5`, in thousandths.
  private static func thousandths(_ text: String) -> Int? {
    let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
    guard let whole = Int(parts[0]), (0...100).contains(whole) else { return nil }
    guard parts.count == 2 else { return whole * 10 }
    guard let tenth = Int(parts[1]), parts[1].count == 1, whole * 10 + tenth <= 1000 else { return nil }
    return whole * 10 + tenth
  }
}
