// `lifespan compare`: two recordings, by type or by stack.
import LifespanAnalysis
import LifespanReport

enum CompareCommand {
  static let spec = CommandSpec(
    name: "compare", usage: "BASE CANDIDATE [options]", summary: "two recordings, by type or by stack",
    operands: .count(2...2), options: options, discussion: { discussion }, run: run)

  private static let options: [OptionSpec] =
    [
      .choice(
        "--by", of: Comparison.Matching.allCases.map(\.rawValue), help: "what is compared; default type"),
      ReadingOption.lifespan, .flag("--all", help: "also list what has not changed"),
      .flag("--unlike", help: "compare recordings that were made in different ways, and say how they differ"),
      ReadingOption.symbols, ReadingOption.debugPath, ReadingOption.sysroot,
    ] + ReadingOption.types + ReadingOption.table + [
      .option(
        "--fail-on", value: offers.joined(separator: "|"), repeatable: true,
        help: "status 1 when the candidate holds more bytes than the base by more than that; N% is of the base")
    ]

  private static let offers = [FailOn.growthBytesForm, FailOn.growthPercentForm]

  private static var discussion: String {
    """
    Types and functions are matched by their names, as addresses differ from run to run: a function that was
    renamed is another one. BASE and CANDIDATE are files, or PIDs of recordings that run.
    \(ReadingOption.columnsParagraph(ComparisonReport.columnKeys))
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: ComparisonReport.columnKeys)
    let limits = try FailOn.parse(arguments, offers: offers)
    let matching = arguments.value("--by").flatMap(Comparison.Matching.init(rawValue:)) ?? .type
    let base = try opened(arguments.operands[0], options)
    let candidate = try opened(arguments.operands[1], options)
    // What only one of the two has is no slip of the keyboard in the other.
    guard base.isKnown || candidate.isKnown else {
      _ = try base.recording.analysis.catalog.selection(options.types)
      return .success
    }
    let differences = Comparison.differences(
      base.subject.information, candidate.subject.information, by: matching)
    if !differences.isEmpty, !arguments.has("--unlike") {
      throw CommandFailure(
        "the two were not recorded alike: \(differences.joined(separator: "; ")); --unlike compares them none the less")
    }
    let recordings = [base, candidate].map {
      ComparedRecording($0.sites, subject: $0.subject, names: $0.recording.names)
    }
    let comparison = Comparison(recordings[0], recordings[1], by: matching)
    let report = ComparisonReport(
      comparison, base: recordings[0], candidate: recordings[1], differences: differences,
      showsAll: arguments.has("--all"))
    candidate.recording.print(report.render(options.report), options.report, candidate.subject)
    try FailOn.check(limits, against: base.subject, candidate.subject)
    return FailOn.conclude(
      limits.compactMap {
        $0.verdict(
          growth: comparison.growth, before: comparison.baseBytes, survivors: 0, of: "the candidate", survived: "")
      })
  }

  private static func opened(
    _ operand: String, _ options: ReadingOptions
  ) throws -> (recording: OpenedRecording, isKnown: Bool, sites: AllocationSites, subject: ReportSubject) {
    let recording = try OpenedRecording(operand, options)
    let isKnown = (try? recording.analysis.catalog.selection(options.types)) != nil
    let sites =
      isKnown
      ? try recording.analysis.answer(AllocationSitesQuestion(lifespan: options.lifespan, types: options.types))
      : AllocationSites(lifespan: options.lifespan, rows: [])
    return (recording, isKnown, sites, try recording.subject(countsDiscarded: false))
  }
}
