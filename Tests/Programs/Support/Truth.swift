// Support of the behaviour programs (Tests/Behaviour): each counts its own objects and prints the truth for the runner.
//
//   final class Node { let born = Node.tally.made(); static let tally = Tally("Node"); deinit { Node.tally.gone(born) } }
//   printTruth(Node.tally)      TRUTH {"types":{"Program.Node":{"total":…,"living":…,"destroyed":…}},"generations":[…]}
//
// Programs are built as one module named Program, with this file and Helpers.c.

import Glibc
import Synchronization

/// Number of marks set so far by the program itself.
private let generation = Atomic<Int>(0)
nonisolated(unsafe) private var markNames: [String] = []

/// Raw counters of one type. Counting makes no object and takes no lock.
struct Tally: @unchecked Sendable {
  static let generations = 16
  let name: StaticString
  /// Made, gone, then living by generation of birth.
  private let counters: UnsafeMutablePointer<Atomic<Int>>

  init(_ name: StaticString) {
    self.name = name
    counters = .allocate(capacity: 2 + Tally.generations)
    for index in 0..<2 + Tally.generations { (counters + index).initialize(to: Atomic<Int>(0)) }
  }

  /// Counts a birth; the object keeps the result for `gone`.
  func made() -> Int {
    let now = generation.load(ordering: .relaxed)
    counters[0].add(1, ordering: .relaxed)
    counters[2 + now].add(1, ordering: .relaxed)
    return now
  }

  func gone(_ born: Int) {
    counters[2 + born].subtract(1, ordering: .relaxed)
    counters[1].add(1, ordering: .releasing)
  }

  var total: Int { counters[0].load(ordering: .relaxed) }
  var destroyed: Int { counters[1].load(ordering: .acquiring) }
  var living: Int { total - destroyed }
  func growth(of generation: Int) -> Int { counters[2 + generation].load(ordering: .relaxed) }
}

/// Closes the current generation in the recorder, where there is one in the process, and in the truth.
func mark(_ name: String) {
  typealias Mark = @convention(c) (UnsafePointer<CChar>?) -> Void
  if let address = dlsym(nil, "lifespan_mark_generation") { unsafeBitCast(address, to: Mark.self)(name) }
  noteMark(name)
}

/// A mark that somebody else has set.
func noteMark(_ name: String) {
  markNames.append(name)
  generation.add(1, ordering: .sequentiallyConsistent)
}

/// Prints the truth as one line, past all buffers: the program may die right after it.
func printTruth(_ tallies: Tally...) {
  func join(_ parts: [String]) -> String { parts.joined(separator: ",") }
  let types = tallies.map {
    "\"Program.\($0.name)\":{\"total\":\($0.total),\"living\":\($0.living),\"destroyed\":\($0.destroyed)}"
  }
  let marks = markNames.enumerated().map { index, name in
    let growth = tallies.map { "\"Program.\($0.name)\":\($0.growth(of: index))" }
    return "{\"name\":\"\(name)\",\"growth\":{\(join(growth))}}"
  }
  say("TRUTH {\"types\":{\(join(types))},\"generations\":[\(join(marks))]}")
}

/// Prints a line at once.
func say(_ line: String) {
  print(line)
  fflush(stdout)
}

/// Waits for a condition that other threads bring about.
func wait(until condition: () -> Bool) {
  while !condition() { usleep(500) }
}

/// The program's n-th argument as a number.
func argument(_ index: Int, default value: Int) -> Int {
  CommandLine.arguments.count > index ? Int(CommandLine.arguments[index]) ?? value : value
}
