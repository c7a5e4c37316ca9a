// leaky_rounds ROUNDS: a cache of pages, each of which holds a list that grows; a mark after each round, set from outside: prints "round N" and waits for
// a line. Run by Tests/Behaviour/heap.py.
import Glibc

final class Page { var list: [UInt64] = [] }
nonisolated(unsafe) var pages = [Page(), Page()]

@main struct Rounds {
  static func main() {
    print("pid \(getpid())")
    for round in 1...(CommandLine.arguments.dropFirst().compactMap { Int($0) }.first ?? 1) {
      for page in pages { page.list = [UInt64](repeating: 7, count: round * 100) }
      print("round \(round)")
      fflush(nil)
      _ = readLine()
    }
  }
}
