// `lifespan holders`: who holds an object, from a picture of the heap.
import LifespanHeap
import LifespanReport
import LifespanTrace

enum HoldersCommand {
  static let spec = CommandSpec(
    name: "holders", usage: "[TRACE] ADDRESS|@SERIAL|TYPE [options]",
    summary: "who holds it: direct holders, path from a root", operands: .count(1...2), options: options,
    discussion: { discussion }, run: run)

  private static let options: [OptionSpec] = [
    .flag("--all-paths", help: "every path from a root that differs in types and properties, the shortest first"),
    .flag("--retained-size", help: "what would go with it by type; of a TYPE also over the trace's pictures"),
    OpenedHeap.pictureOption, ReadingOption.symbols, ReadingOption.debugPath, ReadingOption.sysroot, .json,
    .choice("--format", of: ["table", "json"], help: "default table"),
    .option("--limit", value: "N", help: "so many holders, and paths, at most, from 1; default 20"),
    ReadingOption.color,
  ]

  private static var discussion: String {
    """
    TYPE is a pattern in which * stands for anything: all objects of such types are asked about
    together. An ADDRESS may lie anywhere in a block. Roots that hold firmly (globals, thread-locals)
    come before words of stacks and registers, which may be left-overs. Retained is what would go
    with the objects: what every path to leads through them.
    \(ReadingOption.traceParagraph)
    """
  }

  /// One picture after another: each may be large.
  private static func growth(_ opened: OpenedHeap, _ selector: HeapSelector) throws -> [RetainedAt] {
    let analysis = opened.recording.analysis
    let places = analysis.trace.heapPictures.indices
    guard case .type = selector, places.count > 1 else { return [] }
    return try places.compactMap { place in
      if opened.heap.graph.head == analysis.trace.heapPictures[place] { return opened.heap.retainedAt(selector) }
      return try analysis.trace.heapGraph(place).map { try Heap($0, analysis).retainedAt(selector) }
    }
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try ReadingOptions(arguments, columnKeys: [])
    try TraceOperand.checkQuestion(arguments.operands, is: "ADDRESS|@SERIAL|TYPE")
    let selector = try OpenedHeap.selector(arguments.operands.last ?? "")
    let typed = arguments.operands.count == 2 ? arguments.operands.first : nil
    let opened = try OpenedHeap(typed, options, picture: try OpenedHeap.picture(arguments))
    let allPaths = arguments.has("--all-paths")
    let holders = try opened.heap.holders(of: selector, allPaths: allPaths, limit: options.report.limit ?? 20)
    let isWanted = arguments.has("--retained-size")
    let subject = try opened.recording.subject(countsDiscarded: false)
    let report = HoldersReport(
      opened.heap, holders, subject: subject, names: opened.recording.names, allPaths: allPaths,
      retainedByType: isWanted, growth: isWanted ? try growth(opened, selector) : [])
    opened.recording.print(report.render(options.report), options.report, subject)
    return .success
  }
}
