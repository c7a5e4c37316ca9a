// A program that runs for long: objects live for a while and make room for others, most die at once. What lives is always
// about as much. The same objects in every run. Arguments: rounds, living, and if given "stacks": each object is made by
// another chain of calls; "wait": waits for a line on stdin after each tenth of the rounds, having printed "round N".

import Glibc

final class Kept {
  static let tally = Tally("Kept")
  let born = Kept.tally.made()
  let number: Int
  init(_ number: Int) { self.number = number }
  deinit { Kept.tally.gone(born) }
}

final class Short {
  static let tally = Tally("Short")
  let born = Short.tally.made()
  var next: Kept?
  deinit { Short.tally.gone(born) }
}

nonisolated(unsafe) var kept: [Kept?] = []
nonisolated(unsafe) var last = Short()

@inline(never) func left(_ bits: Int, _ depth: Int) -> Kept { Kept(descend(bits >> 1, depth - 1).number + 1) }
@inline(never) func right(_ bits: Int, _ depth: Int) -> Kept { Kept(descend(bits >> 1, depth - 1).number + 2) }
/// A chain of calls that the bits choose.
@inline(never) func descend(_ bits: Int, _ depth: Int) -> Kept {
  if depth == 0 { return Kept(bits) }
  return bits & 1 == 0 ? left(bits, depth) : right(bits, depth)
}

@main
enum Program {
  static func main() {
    let rounds = argument(1, default: 1000)
    let living = argument(2, default: 1000)
    let words = CommandLine.arguments.dropFirst(3)
    let stacks = words.contains("stacks")
    let waits = words.contains("wait")
    var random: UInt64 = 1
    kept = Array(repeating: nil, count: living)
    for round in 0..<rounds {
      for _ in 0..<100 {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let short = Short()
        short.next = last.next
        last = short
        let place = Int(random >> 33) % living
        kept[place] = stacks ? descend(Int(random >> 40), 16) : Kept(round)
      }
      if round % max(1, rounds / 10) == 0 {
        if round < rounds / 2 { mark("m\(round)") }
        if waits {
          say("round \(round)")
          _ = readLine()
        }
      }
    }
    printTruth(Kept.tally, Short.tally)
    exit(0)
  }
}
