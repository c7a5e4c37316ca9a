// `lifespan start [PID]` and `lifespan stop [PID]`: recording on and off in a program that runs under `record`.

import CSession
import LifespanReport

enum SwitchCommand {
  static let start = CommandSpec(
    name: "start", usage: "[PID] [--json]",
    summary: "go on recording in a program started with --paused, or stopped",
    operands: .count(0...1), options: [.json], run: { try run($0, LIFESPAN_OP_START) })
  static let stop = CommandSpec(
    name: "stop", usage: "[PID] [--json]", summary: "pause: births are not recorded, deaths are",
    operands: .count(0...1),
    options: [.json], run: { try run($0, LIFESPAN_OP_STOP) })

  private static func run(_ arguments: ParsedArguments, _ op: lifespan_op) throws -> ExitStatus {
    let pid = try arguments.operands.first.map(PIDOperand.parse)
    let running = try RunningRecording.select(pid: pid)
    let changed = try running.ask(op).raw.number == 1
    if arguments.has("--json") {
      StandardStreams.printLine(document(try running.now(), changed).text)
      return .success
    }
    let state = op == LIFESPAN_OP_START ? "recording" : "paused"
    StandardStreams.printLine("\(running.status.pid): \(changed ? "" : "already ")\(state)")
    return .success
  }

  private static func document(_ status: RecordingStatus, _ changed: Bool) -> JSONValue {
    .pairs([
      "format": .integer(1), "pid": .integer(Int64(status.pid)), "recording": .bool(status.recording),
      "changed": .bool(changed), "elapsed_ns": .unsigned(status.elapsedNanoseconds),
      "trace": .optional(status.trace),
    ])
  }
}
