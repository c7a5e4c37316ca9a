// `lifespan dump`: the raw records of a trace as text.
import LifespanReport
import LifespanTrace

enum DumpCommand {
  static let spec = CommandSpec(
    name: "dump", usage: "[TRACE] [--json]", summary: "the raw records as text, for debugging the format",
    operands: .count(0...1),
    options: [.json], discussion: { ReadingOption.traceParagraph }, run: run)

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let operand = try TraceOperand(arguments.operands.first)
    let dump = TraceDump(try operand.open(streams: true))
    if arguments.has("--json") {
      try dump.writeJSON { StandardStreams.writeRaw($0, to: StandardStreams.report) }
    } else {
      try dump.write { StandardStreams.writeRaw($0, to: StandardStreams.report) }
    }
    return .success
  }
}
