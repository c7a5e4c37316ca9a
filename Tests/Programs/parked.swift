// Threads of Foundation and dispatch that still run when the program ends: one named, in a run loop for ever, and workers that wait.

import Foundation

final class Item {
  static let tally = Tally("Item")
  let born = Item.tally.made()
  deinit { Item.tally.gone(born) }
}

nonisolated(unsafe) var held: [Item] = []

@inline(never) func startRunner() -> Thread {
  let started = DispatchSemaphore(value: 0)
  // Foundation knows the thread that it is to name once start() has returned, and names none before.
  let known = DispatchSemaphore(value: 0)
  let runner = Thread {
    known.wait()
    Thread.current.name = "event loop"
    held.append(Item())
    // A timer that never comes keeps the loop from returning.
    RunLoop.current.add(Timer(timeInterval: 1e9, repeats: true) { _ in }, forMode: .default)
    RunLoop.current.perform { started.signal() }
    while RunLoop.current.run(mode: .default, before: .distantFuture) {}
  }
  runner.start()
  known.signal()
  started.wait()
  return runner
}

@inline(never) func startWorkers(_ count: Int) {
  let ready = DispatchSemaphore(value: 0)
  let never = DispatchSemaphore(value: 0)
  for _ in 0..<count {
    DispatchQueue.global().async {
      ready.signal()
      never.wait()
    }
  }
  for _ in 0..<count { ready.wait() }
}

@main
enum Program {
  static func main() {
    let runner = startRunner()
    if CommandLine.arguments.contains("mark") { mark("A") }
    startWorkers(2)
    withExtendedLifetime(runner) { printTruth(Item.tally) }
    exit(0)
  }
}
