// What the language allocates by itself, a known number of each. Arguments: KIND N. Half of what was made is dropped.
// The runner compares a run of N with a run of 0.

import Glibc

/// In a struct: an array of bare functions would wrap each of them in a second context.
struct Held {
  let function: () -> Int
}
nonisolated(unsafe) var closures: [Held] = []
nonisolated(unsafe) var boxes: [Any] = []
nonisolated(unsafe) var arrays: [[Int]] = []
nonisolated(unsafe) var dictionaries: [[Int: Int]] = []
nonisolated(unsafe) var sets: [Set<Int>] = []

/// Too large for an existential's inline buffer: one box each.
struct Wide {
  var a, b, c, d: Int
}

@inline(never) func closure(_ first: Int, _ second: Int) -> () -> Int { { first + second } }
@inline(never) func box(_ number: Int) -> Any { Wide(a: number, b: 1, c: 2, d: 3) }
@inline(never) func array(_ number: Int) -> [Int] {
  Array(unsafeUninitializedCapacity: 3) {
    $0[0] = number; $1 = 1
  }
}
@inline(never) func dictionary(_ number: Int) -> [Int: Int] {
  var made = [Int: Int](minimumCapacity: 4)
  made[number] = number
  return made
}
@inline(never) func set(_ number: Int) -> Set<Int> {
  var made = Set<Int>(minimumCapacity: 4)
  made.insert(number)
  return made
}

@main
enum Program {
  static func main() {
    let kind = CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : ""
    let count = argument(2, default: 1000)
    for number in 0..<count {
      switch kind {
      case "closure": closures.append(Held(function: closure(number, 1)))
      case "box": boxes.append(box(number))
      case "array": arrays.append(array(number))
      case "dictionary": dictionaries.append(dictionary(number))
      default: sets.append(set(number))
      }
    }
    let half = count / 2
    switch kind {
    case "closure": closures.removeLast(half)
    case "box": boxes.removeLast(half)
    case "array": arrays.removeLast(half)
    case "dictionary": dictionaries.removeLast(half)
    default: sets.removeLast(half)
    }
    say("\(kind): \(closures.count + boxes.count + arrays.count + dictionaries.count + sets.count) kept")
    exit(0)
  }
}
