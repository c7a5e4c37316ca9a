// `lifespan doctor [PROGRAM]`: can this machine and this program be recorded, with which capture, and why not.

enum DoctorCommand {
  static let spec = CommandSpec(
    name: "doctor", usage: "[PROGRAM] [--json]", summary: "can this machine and this program be recorded, and why not",
    operands: .count(0...1), options: [.json], discussion: { "exit status: 0 it can, 1 it cannot." }, run: run)

  /// The document of `doctor --json`.
  private struct Document: Encodable {
    let format = 1
    let can_record: Bool
    /// `complete` or `none`: what is to be expected; a trace says what it was.
    let capture: String
    let program: String?
    let runtime: String?
    let machine: [Check]
    let checks: [Check]
  }

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let facts = try arguments.operands.first.map { ProgramFacts(path: try ProgramLookup($0).path, readCode: true) }
    let machine = MachineChecks.all()
    let program = facts.map(ProgramChecks.all) ?? []
    let can = !(machine + program).contains { $0.state == .no }
    if arguments.has("--json") {
      let document = Document(
        can_record: can, capture: can ? "complete" : "none", program: facts?.path, runtime: facts?.runtime.rawValue,
        machine: machine, checks: program)
      guard let text = RecordingStatus.encode(document) else { return .unusable }
      StandardStreams.printLine(text)
    } else {
      StandardStreams.printLine(text(machine, program, facts?.path, can))
    }
    return can ? .success : .limitPassed
  }

  private static func text(_ machine: [Check], _ program: [Check], _ path: String?, _ can: Bool) -> String {
    var lines = ["this machine"] + rows(machine)
    if let path { lines += ["", path] + rows(program) }
    let what = path == nil ? "This machine" : "It"
    let verdict = can ? "\(what) can be recorded: capture complete." : "\(what) cannot be recorded."
    return (lines + ["", verdict]).joined(separator: "\n")
  }

  private static func rows(_ checks: [Check]) -> [String] {
    let width = checks.map(\.name.count).max() ?? 0
    return checks.flatMap { check -> [String] in
      let mark = check.state == .ok ? "ok  " : check.state == .limited ? "less" : "NO  "
      let name = check.name + String(repeating: " ", count: width - check.name.count)
      let line = "  \(mark)  \(name)  \(check.detail)"
      let indent = String(repeating: " ", count: width + 10)
      return [line] + (check.cure.map { ["\(indent)→ \($0)"] } ?? [])
    }
  }
}
