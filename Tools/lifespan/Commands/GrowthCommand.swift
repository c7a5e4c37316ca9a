// `lifespan growth`: each type's verdict over the marks, or the suspects of one round.
import LifespanAnalysis
import LifespanHeap
import LifespanReport
import LifespanTrace

enum GrowthCommand {
  static let spec = CommandSpec(
    name: "growth", usage: "[TRACE] [options]",
    summary: "which types grow from mark to mark: linear, noise, plateau; --round: survivors of one round",
    operands: .count(0...1), options: options, discussion: { discussion }, run: run)

  private static let options: [OptionSpec] =
    [
      .pair(
        "--round", values: "FROM TO",
        help: "the suspects of one round instead: what was born between two marks or times and lived at the second"),
      .option(
        "--warm-up", value: "N",
        help: "leave out so many marks at the beginning; default those called warm…, else the first one where four "
          + "rounds are left without it"),
      .option("--from", value: "MARK", help: "the first round begins with this mark"),
      .option("--to", value: "MARK", help: "this mark ends the last round; default the last mark"),
      .flag("--all", help: "also list types on a plateau"),
      OpenedHeap.pictureOption, ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath,
      ReadingOption.sysroot,
    ] + ReadingOption.types + [
      .json,
      .choice("--format", of: ["table", "json", "csv", "markdown", "junit"], help: "default table"),
      ReadingOption.columns, ReadingOption.sort, ReadingOption.limit, ReadingOption.color,
      .option(
        "--fail-on", value: offers.joined(separator: "|"), repeatable: true,
        help: "status 1 when a type with the verdict linear grows by more bytes, or more objects, a round than that; "
          + "N% is of what all types held before the first round; with --round: when the suspects are more than that, "
          + "N% of what lived before"),
    ]

  private static let offers = [FailOn.growthBytesForm, FailOn.growthPercentForm, FailOn.survivorsForm]

  private static var discussion: String {
    """
    A round is what lies between two marks. Linear: the number of living objects (or their bytes)
    rises with the rounds, by less than 1 in 100 chance (Mann and Kendall's test), and still does;
    the rate is the median of all slopes (Theil, Sen). Plateau: it has stopped rising, or never did.
    Noise: it moves, and nothing tells whether it rises. The numbers are exact, the verdict is not;
    with fewer than four rounds there is none. Where the trace has a picture of the heap, the path
    that holds one of the objects is shown.
    \(ReadingOption.traceParagraph)
    \(ReadingOption.columnsParagraph(GrowthReport.columnKeys))
    \(ReadingOption.columnsParagraph(RoundTripReport.columnKeys, "with --round"))
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let round = arguments.values("--round")
    if !round.isEmpty {
      for other in ["--warm-up", "--from", "--to", "--all"] where arguments.has(other) {
        throw UsageError.excluded("--round", by: other)
      }
      return try suspects(arguments, from: round[0], to: round[1])
    }
    if arguments.has("--warm-up"), arguments.has("--from") { throw UsageError.excluded("--warm-up", by: "--from") }
    let warmUp = try arguments.value("--warm-up", expected: "a number of marks") {
      ValueParser.count($0).flatMap { Int(exactly: $0) }
    }
    let options = try ReadingOptions(arguments, columnKeys: GrowthReport.columnKeys)
    let limits = try FailOn.parse(arguments, offers: offers)
    let picture = try OpenedHeap.picture(arguments)
    let recording = try OpenedRecording(arguments.operands.first, options)
    let trends = try recording.analysis.answer(
      GrowthQuestion(
        types: options.types, warmUp: warmUp, from: arguments.value("--from"), to: arguments.value("--to")))
    let report = GrowthReport(
      trends, left: try left(trends, recording, options), heap: try OpenedHeap.heap(of: recording, picture: picture),
      subject: try recording.subject(countsDiscarded: false), names: recording.names, isFiltered: options.isFiltered,
      showsAll: arguments.has("--all"))
    let subject = try recording.subject(countsDiscarded: false)
    recording.print(report.render(options.report), options.report, subject)
    try FailOn.check(limits, against: subject)
    return try conclude(limits, trends)
  }

  /// What is left of the rounds, of the types that grow.
  private static func left(
    _ trends: GrowthTrends, _ recording: OpenedRecording, _ options: ReadingOptions
  ) throws -> RoundTrip {
    let growing = Set(trends.rows.filter { $0.verdict == .linear }.map(\.type))
    guard !growing.isEmpty, let last = trends.lastMark else { return RoundTrip(rows: [], total: RoundTrip.Total()) }
    return try recording.analysis.answer(
      RoundTripQuestion(
        from: trends.firstMark.map { .mark($0) } ?? .start, to: .mark(last), types: options.types, only: growing))
  }

  /// A limit that can't be held against anything must not pass.
  private static func conclude(_ limits: [FailOn], _ trends: GrowthTrends) throws -> ExitStatus {
    if !limits.isEmpty, let withheld = trends.withheld {
      throw CommandFailure("--fail-on: growth can't be told: \(withheld)")
    }
    let before = trends.total.bytes.first ?? 0
    let verdicts = trends.rows.filter { $0.verdict == .linear }.flatMap { row in
      limits.compactMap { limit in
        limit.verdict(
          growth: ((row.byBytes?.perRound ?? 0) + 999) / 1_000, before: before,
          survivors: Int(((row.byCount?.perRound ?? 0) + 999) / 1_000),
          of: "each round \(row.type.name.isEmpty ? "\(row.type.kind)" : row.type.name)",
          survived: "\(row.type.name.isEmpty ? "\(row.type.kind)" : row.type.name) grows in a round by")
      }
    }
    return FailOn.conclude(verdicts)
  }

  private static func suspects(_ arguments: ParsedArguments, from: String, to: String) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: RoundTripReport.columnKeys)
    let limits = try FailOn.parse(arguments, offers: offers)
    let picture = try OpenedHeap.picture(arguments)
    let recording = try OpenedRecording(arguments.operands.first, options)
    let moments = (try recording.moment(from), try recording.moment(to))
    let round = try recording.analysis.answer(
      RoundTripQuestion(from: .moment(moments.0), to: .moment(moments.1), types: options.types))
    let verdicts = limits.compactMap { limit in
      limit.verdict(
        growth: round.total.insideBytes.rawValue, before: round.total.beforeBytes.rawValue, survivors: round.suspects,
        of: "the heap", survived: "born between \(from) and \(to), living at \(to)")
    }
    let subject = try recording.subject(TimeWindow(from: moments.0, to: moments.1))
    let report = RoundTripReport(
      round, from: moments.0, to: moments.1, heap: try OpenedHeap.heap(of: recording, picture: picture),
      subject: subject, names: recording.names, isFiltered: options.isFiltered, isOverLimit: !verdicts.isEmpty)
    recording.print(report.render(options.report), options.report, subject)
    try FailOn.check(limits, against: subject)
    return FailOn.conclude(verdicts)
  }
}
