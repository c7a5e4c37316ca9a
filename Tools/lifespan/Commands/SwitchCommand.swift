// `lifespan start [PID]` and `lifespan stop [PID]`: recording on and off in a program that runs under `record`.

import CSession

enum SwitchCommand {
  static let start = CommandSpec(
    name: "start", usage: "[PID]", summary: "go on recording in a program started with --paused, or stopped",
    operands: .count(0...1), options: [], run: { try run($0, LIFESPAN_OP_START) })
  static let stop = CommandSpec(
    name: "stop", usage: "[PID]", summary: "pause: births are not recorded, deaths are", operands: .count(0...1),
    options: [], run: { try run($0, LIFESPAN_OP_STOP) })

  private static func run(_ arguments: ParsedArguments, _ op: lifespan_op) throws -> ExitStatus {
    let pid = try arguments.operands.first.map(PIDOperand.parse)
    let running = try RunningRecording.select(pid: pid)
    let changed = try running.ask(SessionMessage(op)).raw.number == 1
    let state = op == LIFESPAN_OP_START ? "recording" : "paused"
    StandardStreams.printLine("\(running.status.pid): \(changed ? "" : "already ")\(state)")
    return .success
  }
}
