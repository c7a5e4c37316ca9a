// Makes and ends objects below a number of frames and says what a pair took: `alloc FRAMES PAIRS [THREADS] [across]`.
// across: every object ends on another thread than the one that made it.
import Glibc

final class Node {
  var first = 0
  var second = 0
}

nonisolated(unsafe) var turns = 0
@inline(never) @_optimize(none) func use(_ node: Node) { turns &+= 0 }
@inline(never) func makeAndEnd(_ pairs: Int) {
  for number in 0..<pairs {
    let node = Node()
    node.first = number
    use(node)
  }
}

/// Objects on their way from one thread to another.
final class Belt: @unchecked Sendable {
  private static let room = 4096
  private let places = UnsafeMutablePointer<Unmanaged<Node>?>.allocate(capacity: room)
  private var lock = pthread_spinlock_t()
  private var put = 0, taken = 0
  init() { pthread_spin_init(&lock, 0) }

  func send(_ node: Node) {
    let held = Unmanaged.passRetained(node)
    while true {
      pthread_spin_lock(&lock)
      let fits = put - taken < Self.room
      if fits {
        places[put % Self.room] = held
        put += 1
      }
      pthread_spin_unlock(&lock)
      if fits { return }
      sched_yield()
    }
  }

  func endAll(_ count: Int) {
    var ended = 0
    while ended < count {
      pthread_spin_lock(&lock)
      let first = taken, behind = put
      pthread_spin_unlock(&lock)
      if first == behind { sched_yield() }
      for place in first..<behind { places[place % Self.room]?.release() }
      pthread_spin_lock(&lock)
      taken = behind
      pthread_spin_unlock(&lock)
      ended += behind - first
    }
  }
}

@inline(never) func makeOnly(_ pairs: Int, _ belt: Belt) {
  for number in 0..<pairs {
    let node = Node()
    node.first = number
    belt.send(node)
  }
}

/// One frame a level, none of which the compiler may fold.
@inline(never) @_optimize(none) func below(_ frames: Int, _ work: () -> Void) {
  if frames <= 0 { work() } else { below(frames - 1, work) }
  turns &+= 1
}

func nanoseconds() -> Int {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return now.tv_sec * 1_000_000_000 + now.tv_nsec
}

final class Work {
  let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
}

func onThreads(_ works: [() -> Void]) {
  var threads: [pthread_t] = []
  for body in works {
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      {
        if let work = $0 { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
        return nil
      }, Unmanaged.passRetained(Work(body)).toOpaque())
    threads.append(thread)
  }
  for thread in threads { pthread_join(thread, nil) }
}

@main enum Program {
  static func main() {
    let words = CommandLine.arguments
    guard words.count >= 3, let frames = Int(words[1]), let pairs = Int(words[2]) else {
      fputs("alloc FRAMES PAIRS [THREADS] [across]\n", stderr)
      exit(64)
    }
    let threads = words.count > 3 ? Int(words[3]) ?? 1 : 1
    let across = words.count > 4
    below(frames) { makeAndEnd(1000) }
    let start = nanoseconds()
    if across {
      let belt = Belt()
      onThreads([{ below(frames) { makeOnly(pairs, belt) } }, { belt.endAll(pairs) }])
    } else if threads == 1 {
      below(frames) { makeAndEnd(pairs) }
    } else {
      onThreads((0..<threads).map { _ in { below(frames) { makeAndEnd(pairs / threads) } } })
    }
    let whole = Double(nanoseconds() - start)
    fputs("TOOK \(whole / Double(pairs)) ns a pair\n", stderr)
  }
}
