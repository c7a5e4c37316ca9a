// Async functions, task groups, actors and streams under a storm of signals whose handler allocates (storm.c). Objects count
// themselves; an allocator that may be interrupted is linked (heap.c).

import Glibc

@_silgen_name("storm_begin") func stormBegin(_ nanoseconds: Int)
@_silgen_name("storm_end") func stormEnd() -> Int
@_silgen_name("truth") func truth()
@_silgen_name("thing_make") func makeThing() -> UnsafeMutableRawPointer
@_silgen_name("thing_drop") func dropThing(_ thing: UnsafeMutableRawPointer)

@inline(never) func deep(_ depth: Int) async -> Int {
  let thing = makeThing()
  defer { dropThing(thing) }
  if depth == 0 {
    await Task.yield()
    return 1
  }
  return await deep(depth - 1) + (depth % 3 == 0 ? await sideways(depth) : 0)
}

@inline(never) func sideways(_ number: Int) async -> Int {
  let thing = makeThing()
  await Task.yield()
  dropThing(thing)
  return number & 1
}

actor Counter {
  var sum = 0
  func add(_ number: Int) async {
    let thing = makeThing()
    sum += number
    if number % 2 == 0 { await Task.yield() }
    dropThing(thing)
  }
}

@main
enum Program {
  static func main() async {
    let rounds = CommandLine.arguments.count > 1 ? Int(CommandLine.arguments[1]) ?? 50 : 50
    let counter = Counter()
    stormBegin(100_000)
    await withTaskGroup(of: Int.self) { group in
      for number in 0..<4 {
        group.addTask {
          var sum = 0
          for round in 0..<rounds {
            sum += await deep(round % 40)
            await counter.add(number + round)
            async let left = deep(5)
            async let right = sideways(round)
            sum += await left + right
          }
          return sum
        }
      }
      for await part in group { await counter.add(part) }
    }
    print("storm: \(stormEnd() > 0)")
    fflush(stdout)
    truth()
  }
}
