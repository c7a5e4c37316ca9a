// `lifespan stats`: one row a type, or something else. Also called by `record --stats`.
import LifespanAnalysis
import LifespanReport

enum StatsCommand {
  static let spec = CommandSpec(
    name: "stats", usage: "[TRACE] [options]", summary: "statistics by type for All / Living / Destroyed",
    operands: .count(0...1), options: options, discussion: { discussion }, run: run)

  private static let options =
    [
      .choice("--by", of: Grouping.allCases.map(\.rawValue), help: "what has a row of its own; default type"),
      ReadingOption.lifespan, ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath,
      ReadingOption.sysroot,
    ] + ReadingOption.types + ReadingOption.window + ReadingOption.table

  private static var discussion: String {
    """
    --by module: of the types; package, file, caller: of the first function on the stack that is not
    the runtime's, an allocator's or the system's; thread: which allocated; size: a histogram. What has
    none of it (no line table, no stack) has a row of its own.
    Temporary: destroyed before the next allocation of the same thread. Lifetimes are those of the
    destroyed; min and max are exact, the median is at most 1.6 % beside the exact one.
    \(ReadingOption.traceParagraph)
    \(ReadingOption.columnsParagraph(StatisticsReport.columnKeys))
    \(ReadingOption.columnsParagraph(["group", "and the numbers of these"], "with --by"))
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let grouping = arguments.value("--by").flatMap(Grouping.init(rawValue:)) ?? .type
    let isGrouped = grouping != .type
    let options = try ReadingOptions(
      arguments, columnKeys: isGrouped ? StatisticsReport.groupColumnKeys : StatisticsReport.columnKeys)
    let recording = try OpenedRecording(arguments.operands.first, options)
    let wanted = (options.report.columns ?? []) + [options.report.sort].compactMap { $0 }
    let window = try recording.window(arguments)
    let question = StatisticsQuestion(
      lifespan: options.lifespan, types: options.types, window: window,
      countsTemporary: wanted.contains("temporary_count"),
      // A document has them always.
      countsReferences: !isGrouped && options.report.format == .json
        || wanted.contains(where: StatisticsReport.referenceKeys.contains),
      countsLifetimes: wanted.contains(where: StatisticsReport.lifetimeKeys.contains))
    var groups: StatisticsGroups?
    let statistics: Statistics
    if isGrouped {
      (statistics, groups) = try grouped(question, grouping, recording)
    } else {
      statistics = try recording.analysis.answer(question)
    }
    let subject = try recording.subject(window)
    let report = StatisticsReport(
      statistics, subject: subject, names: recording.names,
      isFiltered: options.isFiltered, resident: recording.analysis.residentMemory, groups: groups)
    recording.print(report.render(options.report), options.report, subject)
    return .success
  }

  /// The sums and the groups of one pass.
  private static func grouped(
    _ question: StatisticsQuestion, _ grouping: Grouping, _ recording: OpenedRecording
  ) throws -> (Statistics, StatisticsGroups) {
    let sites = AllocationSitesQuestion(
      lifespan: .all, types: question.types, window: question.window, split: grouping.split,
      countsTemporary: question.countsTemporary, countsLifetimes: question.countsLifetimes)
    func groups(_ sites: AllocationSites, _ threads: ThreadList?) -> StatisticsGroups {
      StatisticsGroups(sites, by: grouping, lifespan: question.lifespan, threads: threads, names: recording.names)
    }
    if grouping == .thread {
      let (statistics, found, threads) = try recording.analysis.answer(question, sites, ThreadsQuestion())
      return (statistics, groups(found, threads))
    }
    let (statistics, found) = try recording.analysis.answer(question, sites)
    return (statistics, groups(found, nil))
  }
}
