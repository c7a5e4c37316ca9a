// Threads that run while the recording starts, make objects, hand them on to each other and let them go; and a forked
// child.
import Glibc
import Lifespan
import Synchronization

final class Shared: Tracked, Sendable {
  static let born = Atomic<Int>(0)
  static let died = Atomic<Int>(0)
  init() { Self.born.add(1, ordering: .relaxed) }
  deinit { Self.died.add(1, ordering: .relaxed) }
}

/// Busy before, while and after the recording starts; counted from the moment when all have seen `counting`.
final class Workers: Sendable {
  private let stopping = Atomic<Bool>(false)
  private let rounds = Atomic<Int>(0)
  private let shelf = Mutex<[Shared]>([])
  nonisolated(unsafe) private var threads: [pthread_t] = []

  init(count: Int) {
    for _ in 0..<count {
      var thread = pthread_t()
      let me = Unmanaged.passRetained(self).toOpaque()
      pthread_create(
        &thread, nil,
        { argument in
          if let argument { Unmanaged<Workers>.fromOpaque(argument).takeRetainedValue().run() }
          return nil
        }, me)
      threads.append(thread)
    }
    while rounds.load(ordering: .relaxed) < 1_000 { sched_yield() }
  }

  private func run() {
    while !stopping.load(ordering: .relaxed) {
      // Takes what another thread has left there: its memory is freed here and used again there.
      let taken = shelf.withLock { shelf in
        shelf.append(Shared())
        return shelf.count > 50 ? shelf.removeFirst() : nil
      }
      _ = taken
      rounds.add(1, ordering: .relaxed)
    }
  }

  /// What was born before the start is let go first, so that what lives at the end was all recorded.
  func stopAndCheck() {
    let target = rounds.load(ordering: .relaxed) + 200_000
    while rounds.load(ordering: .relaxed) < target { sched_yield() }
    stopping.store(true, ordering: .relaxed)
    for thread in threads { pthread_join(thread, nil) }
    let truth = Shared.born.load(ordering: .relaxed) - Shared.died.load(ordering: .relaxed)
    equalCount(Shared.self, truth, "threads that hand objects on")
    equal(truth, shelf.withLock { $0.count }, "the program's own count")
  }
}

/// A forked child is not recorded, and says so at once.
func checkForkChild() {
  let child = forkProcess()
  if child == 0 {
    kept.append(Session(number: 1))
    let answer = reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: Session.self) }
    _exit(answer == .forked || answer == .recordsAnotherProcess ? 0 : 1)
  }
  var status: Int32 = -1
  waitpid(child, &status, 0)
  equal(status, 0, "the answer in a forked child")
}

// Swift's overlay marks fork as unavailable; a program's C code may call it all the same.
@_silgen_name("fork") private func forkProcess() -> pid_t
