// `lifespan explain`: one type on one screen.
import LifespanAnalysis
import LifespanHeap
import LifespanReport
import LifespanTrace

enum ExplainCommand {
  static let spec = CommandSpec(
    name: "explain", usage: "[TRACE] TYPE [options]",
    summary: "growth, stack, holder and known pattern of one type on one screen", operands: .count(1...2),
    options: options, discussion: { discussion }, run: run)

  private static let options: [OptionSpec] = [
    OpenedHeap.pictureOption, ReadingOption.markAt, ReadingOption.symbols, ReadingOption.debugPath,
    ReadingOption.sysroot, .json,
    .choice("--format", of: ["table", "json"], help: "default table"), ReadingOption.color,
  ]

  private static var discussion: String {
    """
    TYPE is a pattern in which * stands for anything; of several types the one whose living objects
    have the most bytes is explained. What is likely the cause is told by the path that holds an
    object, where the trace has a picture of the heap: it is a guess, all else is exact.
    \(ReadingOption.traceParagraph)
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: [])
    try TraceOperand.checkQuestion(arguments.operands, is: "TYPE")
    let typed = arguments.operands.count == 2 ? arguments.operands.first : nil
    let recording = try OpenedRecording(typed, options)
    let filter = TypeFilter(include: [arguments.operands.last ?? ""])
    let statistics = try recording.analysis.answer(StatisticsQuestion(lifespan: .all, types: filter))
    // A pattern that names types of which nothing was ever made names nothing.
    guard let row = statistics.rows.first else {
      throw QuestionError.unknownType(arguments.operands.last ?? "", nearest: [])
    }
    let one = TypeFilter(include: [row.type.name], kinds: [row.type.kind])
    let lifespan: LifespanFilter = row.tally.persistentCount > 0 ? .living : .all
    let (trends, sites) = try recording.analysis.answer(
      GrowthQuestion(types: one), AllocationSitesQuestion(lifespan: lifespan, types: one))
    let heap = try OpenedHeap.heap(of: recording, picture: try OpenedHeap.picture(arguments))
    let facts = ExplainReport.Facts(
      type: row.type, tally: row.tally, others: statistics.rows.dropFirst().map(\.type),
      trend: trends.rows.first { $0.type == row.type }, trends: trends, sites: sites,
      holders: try heap.flatMap { try holders(of: row.type, in: $0) }, heap: heap)
    let subject = try recording.subject(countsDiscarded: false)
    let report = ExplainReport(facts, subject: subject, names: recording.names)
    recording.print(report.render(options.report), options.report, subject)
    return .success
  }

  /// Nil where none of them lived when the picture was taken.
  private static func holders(of type: TypeIdentity, in heap: Heap) throws -> HeapHolders? {
    do {
      return try heap.holders(of: .type(type.name))
    } catch HeapQuestionError.unknownType {
      return nil
    }
  }
}
