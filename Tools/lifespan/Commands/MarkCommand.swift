// `lifespan mark [PID] [NAME]`: marks a generation in a running recording and prints its name.

import CSession

enum MarkCommand {
  static let spec = CommandSpec(
    name: "mark", usage: "[PID] [NAME]",
    summary: "mark a generation: name it after what has just been done", operands: .count(0...2), options: [],
    discussion: { "PID may be left out where one recording runs. A mark without a name is A, B, … Z, AA." }, run: run)

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    var words = arguments.operands[...]
    var pid: Int32?
    if let first = words.first, let number = ValueParser.count(first) {
      pid = try PIDOperand.number(first, number)
      words.removeFirst()
    } else if words.count == 2 {
      throw UsageError.badOperand(words[0], expected: "PID NAME")
    }
    let name = words.first ?? ""
    guard name.utf8.count <= 255 else { throw UsageError.badOperand(name, expected: "a name of at most 255 bytes") }
    let running = try RunningRecording.select(pid: pid)
    let answer = try running.ask(SessionMessage(LIFESPAN_OP_MARK, text: name))
    StandardStreams.printLine(answer.text)
    return .success
  }
}

/// A process id as an operand.
enum PIDOperand {
  static func parse(_ word: String) throws -> Int32 { try number(word, ValueParser.count(word)) }

  fileprivate static func number(_ word: String, _ number: UInt64?) throws -> Int32 {
    guard let number, number > 0, let pid = Int32(exactly: number) else {
      throw UsageError.badOperand(word, expected: "a PID")
    }
    return pid
  }
}
