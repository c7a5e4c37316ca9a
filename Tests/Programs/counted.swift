// Makes and frees objects on several threads for ever, and counts them in a file that outlives the process: an object is
// counted when it is made, or freed, so that what was counted before a SIGKILL must be in the trace.
//   counted FILE THREADS [REST]     "pid N" when all of them run; REST: microseconds between two objects

import Glibc

final class Node {
  var next: Node?
  let number: Int
  init(_ number: Int) { self.number = number }
}

/// Eight words for each thread: made, freed.
nonisolated(unsafe) var counts = UnsafeMutablePointer<Int>.allocate(capacity: 512)

func work(_ thread: Int) -> Never {
  let mine = counts + thread * 8
  let rest = UInt32(argument(3, default: 0))
  var kept: [Node?] = Array(repeating: nil, count: 64)
  var number = 0
  while true {
    let slot = (number &* 7) % kept.count
    if kept[slot] != nil {
      kept[slot] = nil
      mine[1] += 1
    }
    kept[slot] = Node(number)
    mine[0] += 1
    number &+= 1
    if rest > 0 { usleep(rest) }
  }
}

@main
enum Program {
  static func main() {
    let file = open(CommandLine.arguments[1], O_RDWR | O_CREAT | O_TRUNC, 0o600)
    ftruncate(file, 4096)
    if let shared = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) {
      counts = shared.assumingMemoryBound(to: Int.self)
    }
    let threads = argument(2, default: 4)
    for number in 0..<threads {
      var thread = pthread_t()
      pthread_create(&thread, nil, { work(Int(bitPattern: $0)) }, UnsafeMutableRawPointer(bitPattern: number))
    }
    wait { (0..<threads).allSatisfy { counts[$0 * 8] > 0 } }
    print("pid \(getpid())")
    fflush(stdout)
    // Whoever started it kills it; a test that fails before that leaves nothing behind for ever.
    alarm(120)
    while true { sleep(1) }
  }
}
