// `lifespan export`: what a trace holds in another program's format.
import LifespanHeap
import LifespanReport
import LifespanTrace

enum ExportCommand {
  static let spec = CommandSpec(
    name: "export", usage: "[TRACE] --format FORMAT -o FILE [options]",
    summary: "leaks, and paths to objects, for other programs", operands: .count(0...1), options: options,
    discussion: { discussion }, run: run)

  private static let options: [OptionSpec] = [
    .choice("--format", of: ["dot"], help: "dot: a graph for Graphviz"),
    .option("-o", "--output", value: "FILE", help: "where to write it; - is the standard output"),
    .option("--of", value: "ADDRESS|@SERIAL|TYPE", help: "dot: all paths to these objects instead of leaks"),
    OpenedHeap.pictureOption, ReadingOption.symbols,
    .option("--limit", value: "N", help: "dot: so many paths at most, from 1; default 20"),
  ]

  private static var discussion: String {
    """
    dot needs a picture of the heap (record --leaks). It draws the cycles of all leaks and the path
    from a root to each abandoned type: `dot -Tsvg FILE -o leaks.svg`.
    \(ReadingOption.traceParagraph)
    """
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    guard arguments.has("--format") else { throw UsageError.missingOperand("--format dot") }
    guard let output = arguments.value("-o") else { throw UsageError.missingOperand("-o FILE") }
    var plain = arguments
    // It is no report's format.
    plain.given.removeAll { $0.name == "--format" }
    let options = try ReadingOptions(plain, columnKeys: [])
    let selector = try arguments.value("--of").map(OpenedHeap.selector)
    let opened = try OpenedHeap(arguments.operands.first, options, picture: try OpenedHeap.picture(arguments))
    let names = opened.recording.names
    let text: String
    if let selector {
      let holders = try opened.heap.holders(of: selector, allPaths: true, limit: options.report.limit ?? 20)
      text = DotExport(holders, names: names).text
    } else {
      let subject = try opened.recording.subject(countsDiscarded: false)
      text = DotExport(LeaksReport(opened.heap, subject: subject, names: names)).text
    }
    if output == "-" {
      StandardStreams.printText(text)
    } else {
      try TextFile.write(text, to: output)
    }
    return .success
  }
}
