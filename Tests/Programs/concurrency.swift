// Tasks, groups, async let, actors and AsyncStream, with objects that each of them carries. Argument: rounds; every round
// starts the same number of tasks, so that two runs tell how many one round costs.

import Glibc

final class Message: Sendable {
  static let tally = Tally("Message")
  let born = Message.tally.made()
  let number: Int
  init(_ number: Int) { self.number = number }
  deinit { Message.tally.gone(born) }
}

actor Mailbox {
  static let tally = Tally("Mailbox")
  let born = Mailbox.tally.made()
  private var kept: [Message] = []
  func keep(_ message: Message) { kept.append(message) }
  func sum() -> Int { kept.reduce(0) { $0 + $1.number } }
  deinit { Mailbox.tally.gone(born) }
}

/// Made out of sight, so that no optimiser puts it on the stack.
@inline(never) func message(_ number: Int) -> Message { Message(number) }

nonisolated(unsafe) var archive: [Mailbox] = []
let tasksPerRound = 1 + 20 + 1  // Task, group, producer; async let makes none on the heap

@main
enum Program {
  static func main() async {
    let rounds = argument(1, default: 50)
    var sum = 0
    for round in 0..<rounds { sum += await play(round) }
    // What a finished task held may outlive its result by a moment.
    wait { Message.tally.living == rounds * 2 && Mailbox.tally.living == rounds }
    say("sum \(sum), tasks \(rounds * tasksPerRound)")
    printTruth(Message.tally, Mailbox.tally)
    exit(0)
  }

  static func play(_ round: Int) async -> Int {
    let mailbox = Mailbox()
    archive.append(mailbox)
    await mailbox.keep(Message(round))
    let task = Task { () -> Int in
      let mine = message(1)
      await mailbox.keep(mine)
      return mine.number
    }
    let group = await withTaskGroup(of: Int.self) { group in
      for number in 0..<20 {
        group.addTask {
          let mine = message(number)
          await Task.yield()
          return mine.number
        }
      }
      return await group.reduce(0, +)
    }
    async let left = double(message(3))
    async let right = double(message(4))
    let both = await left + right
    return await task.value + group + both + stream() + mailbox.sum()
  }

  static func double(_ message: Message) async -> Int {
    await Task.yield()
    return message.number * 2
  }

  static func stream() async -> Int {
    let (stream, continuation) = AsyncStream<Message>.makeStream()
    let producer = Task {
      for number in 0..<10 { continuation.yield(message(number)) }
      continuation.finish()
    }
    var sum = 0
    for await message in stream { sum += message.number }
    await producer.value
    return sum
  }
}
