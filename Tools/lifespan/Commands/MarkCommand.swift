// `lifespan mark [PID] [NAME]`: marks a generation in a running recording and prints its name.

import CSession
import LifespanReport

enum MarkCommand {
  static let spec = CommandSpec(
    name: "mark", usage: "[PID] [NAME] [--leaks] [--json]",
    summary: "mark a generation: name it after what has just been done", operands: .count(0...2),
    options: [.flag("--leaks", help: "also take a picture of the heap, for leaks and holders"), .json],
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
    let running: RunningRecording
    do {
      running = try RunningRecording.select(pid: pid)
    } catch let failure as CommandFailure where pid != nil && arguments.operands.count == 1 {
      let word = arguments.operands[0]
      throw CommandFailure("\(failure.line); a number is read as a PID: lifespan mark PID \(word) names a mark \(word)")
    }
    let message = try running.ask(LIFESPAN_OP_MARK, text: name)
    guard let answer = MarkAnswer(line: message.text) else {
      throw CommandFailure("process \(running.status.pid): its recording is of another version of lifespan")
    }
    if arguments.has("--leaks") { try running.takePicture(ofMark: true) }
    StandardStreams.printLine(
      arguments.has("--json") ? document(answer, message.raw.number, running.status).text : answer.name)
    return .success
  }

  private static func document(_ answer: MarkAnswer, _ number: UInt64, _ status: RecordingStatus) -> JSONValue {
    .pairs([
      "format": .integer(1), "pid": .integer(Int64(status.pid)), "generation": .string(answer.name),
      "number": .unsigned(number), "timestamp_ns": .integer(answer.nanoseconds), "trace": .optional(status.trace),
    ])
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
