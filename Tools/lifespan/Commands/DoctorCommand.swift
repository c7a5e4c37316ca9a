// `lifespan doctor [PROGRAM]`: can this machine and this program be recorded, with which capture, and why not. With --refcounts the
// self-check of a program's reference counts (RefcountDoctor.swift).
import LifespanReport

enum DoctorCommand {
  static let spec = CommandSpec(
    name: "doctor", usage: "[PROGRAM] [--json] | --refcounts [options] -- PROGRAM [ARG…]",
    summary: "can this machine and this program be recorded, and why not; are its reference counts exact",
    operands: .count(0...Int.max), options: [.json] + RefcountDoctor.options, discussion: { discussion }, run: run)

  private static let discussion = """
    exit status: 0 it can be recorded, 1 it cannot (can_record in JSON, and why), 126 PROGRAM is not
    executable, 127 it is not there.

    """ + RefcountDoctor.discussion

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    if arguments.has("--refcounts") { return try RefcountDoctor.run(arguments) }
    try RefcountDoctor.checkUnused(arguments)
    if arguments.operands.count > 1 { throw UsageError.extraOperand(arguments.operands[1]) }
    let facts = try arguments.operands.first.map { ProgramFacts(path: try ProgramLookup($0).path, readCode: true) }
    let machine = MachineChecks.all()
    let program = facts.map(ProgramChecks.all) ?? []
    let can = !(machine + program).contains { $0.state == .no }
    if arguments.has("--json") {
      StandardStreams.printLine(document(machine, program, facts, can).text)
    } else {
      StandardStreams.printLine(text(machine, program, facts?.path, can))
    }
    return can ? .success : .limitPassed
  }

  /// `capture`: what is to be expected; a trace says what it was.
  private static func document(
    _ machine: [Check], _ program: [Check], _ facts: ProgramFacts?, _ can: Bool
  ) -> JSONValue {
    .pairs([
      "format": .integer(1), "can_record": .bool(can), "capture": .string(can ? "complete" : "none"),
      "program": .optional(facts.map { FilePath.name($0.path) }),
      "path": .optional(facts.map { FilePath.absolute($0.path) }),
      "runtime": .optional(facts?.runtime.rawValue),
      "machine": .array(machine.map(json)), "checks": .array(program.map(json)),
    ])
  }

  private static func json(_ check: Check) -> JSONValue {
    .pairs([
      "name": .string(check.name), "state": .string(check.state.rawValue), "detail": .string(check.detail),
      "cure": .optional(check.cure),
    ])
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
