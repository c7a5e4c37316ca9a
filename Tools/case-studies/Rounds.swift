// What every case study shares: it does its work in rounds and marks the end of each, in a recorder where there is one in the process.
import Glibc

/// Closes the current generation in the recorder, if there is one.
func mark(_ name: String) {
  typealias Mark = @convention(c) (UnsafePointer<CChar>?) -> Void
  guard let address = dlsym(nil, "lifespan_mark_generation") else { return }
  unsafeBitCast(address, to: Mark.self)(name)
}

/// Does the work once to warm up and then four times, and marks after each.
func rounds(_ work: (Int) -> Void) {
  for round in 0...4 {
    work(round)
    mark(round == 0 ? "warm-up" : "round \(round)")
  }
}

/// The same for work that suspends.
@MainActor func rounds(_ work: @MainActor (Int) async -> Void) async {
  for round in 0...4 {
    await work(round)
    mark(round == 0 ? "warm-up" : "round \(round)")
  }
}

/// The variant that was asked for.
var variant: String { CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : "" }

/// Ends with the names of the variants where none of them was asked for.
func unknownVariant(_ known: String...) -> Never {
  fputs("usage: \(CommandLine.arguments[0]) \(known.joined(separator: "|"))\n", stderr)
  exit(64)
}

/// Waits for what other threads bring about.
func wait(_ condition: () -> Bool) {
  while !condition() { usleep(500) }
}
