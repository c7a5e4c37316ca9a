// `lifespan generations`: growth and # persistent per generation, down to types, objects and stacks.
import LifespanAnalysis
import LifespanReport
import LifespanTrace

enum GenerationsCommand {
  static let spec = CommandSpec(
    name: "generations", usage: "[TRACE] [options]", summary: "growth and # persistent per generation",
    operands: .count(0...1), options: options, discussion: { discussion }, run: run)

  private static let options: [OptionSpec] =
    [
      .option(
        "--generation", value: "G", help: "one generation's types; with --type also the objects and their stacks"),
      .flag("--at-mark", help: "what each generation held when its mark was set, not at the end"),
      ReadingOption.lifespan, ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath,
      ReadingOption.sysroot,
    ] + ReadingOption.types + ReadingOption.window + ReadingOption.table + [
      .option(
        "--fail-on", value: offers.joined(separator: "|"), repeatable: true,
        help: "status 1 when a closed generation still holds more bytes, or more objects, than that; with --generation "
          + "only that one is looked at; N% is of what the first closed generation holds")
    ]

  private static let offers = [FailOn.growthBytesForm, FailOn.growthPercentForm, FailOn.survivorsForm]

  private static var discussion: String {
    ReadingOption.traceParagraph + """

      --generation open is what was born after the last mark.
      \(ReadingOption.columnsParagraph(GenerationsReport.columnKeys(ofOneGeneration: false)))
      \(ReadingOption.columnsParagraph(GenerationsReport.columnKeys(ofOneGeneration: true), "with --generation"))
      """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let one = arguments.value("--generation")
    let keys = GenerationsReport.columnKeys(ofOneGeneration: one != nil)
    let options = try ReadingOptions(arguments, columnKeys: keys)
    let limits = try FailOn.parse(arguments, offers: offers)
    let recording = try OpenedRecording(arguments.operands.first, options)
    let atMark = arguments.has("--at-mark")
    let window = try recording.window(arguments)
    let generations = try recording.analysis.answer(
      GenerationsQuestion(types: options.types, window: window, atMark: atMark, lifespan: options.lifespan))
    let chosen = try one.map { try Self.generation($0, of: generations) }
    var objects: ObjectList?
    if let chosen, !options.types.include.isEmpty {
      objects = try recording.analysis.answer(
        ObjectsQuestion(
          types: options.types, lifespan: options.lifespan, generation: chosen.name,
          window: Self.window(window, chosen, generations)))
    }
    let counts = GenerationsQuestion.countsDiscarded(window: window, atMark: atMark, recording.analysis.timeline)
    let subject = try recording.subject(window, generation: one, countsDiscarded: counts && objects == nil)
    let report = GenerationsReport(
      generations, chosen: chosen, objects: objects, subject: subject, names: recording.names,
      isFiltered: options.isFiltered)
    recording.print(report.render(options.report), options.report, subject)
    try FailOn.check(limits, against: subject)
    return FailOn.conclude(verdicts(limits, generations, chosen))
  }

  /// The first generation is what others are a part of; it is not one of itself.
  private static func verdicts(
    _ limits: [FailOn], _ generations: Generations, _ chosen: Generations.Growth?
  ) -> [String] {
    let first = generations.closed.first
    let when = generations.atMark ? "when its mark was set" : "at the end"
    return (chosen.map { [$0] } ?? generations.closed).flatMap { growth in
      limits.compactMap { limit in
        limit.verdict(
          growth: growth.growthBytes.rawValue,
          before: growth.generation == first?.generation ? nil : first?.growthBytes.rawValue,
          survivors: growth.survivors,
          of: "generation \(growth.name)", survived: "of generation \(growth.name) living \(when)")
      }
    }
  }

  /// The objects are shown as the generation is: at the end, or when its mark was set.
  private static func window(
    _ window: TimeWindow, _ chosen: Generations.Growth, _ generations: Generations
  ) -> TimeWindow {
    let isClosed = chosen.generation != generations.open.generation
    return generations.atMark && isClosed ? TimeWindow(from: window.from, to: .mark(chosen.name)) : window
  }

  /// By name; of several with one name the last, as everywhere.
  private static func generation(_ name: String, of generations: Generations) throws -> Generations.Growth {
    if let found = generations.closed.last(where: { $0.name == name }) { return found }
    if ["open", "(open)", generations.open.name].contains(name) { return generations.open }
    let names = generations.closed.map(\.name) + ["open"]
    let near = Nearest.names(to: name, among: names)
    throw CommandFailure(
      "no generation '\(name)' in this recording; nearest: "
        + (near.isEmpty ? Array(names.suffix(3)) : near).joined(separator: ", "))
  }
}
