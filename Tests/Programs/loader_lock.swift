// The first danger of an unwinder that calls dl_iterate_phdr in a hook: one thread is inside such a callback (and so holds the
// loader's lock) and waits for a lock that another thread holds, which makes objects meanwhile. Plain, this just works.

import Glibc

final class Node {
  static let tally = Tally("Node")
  let born = Node.tally.made()
  let next: Node?
  init(_ next: Node?) { self.next = next }
  deinit { Node.tally.gone(born) }
}

/// The lock that both want, and where each of them has come to.
final class Meeting: @unchecked Sendable {
  let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  let isHeld = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  let isInside = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  let isOver = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
  init() {
    pthread_mutex_init(lock, nil)
    sem_init(isHeld, 0, 0)
    sem_init(isInside, 0, 0)
    sem_init(isOver, 0, 0)
  }
}

let meeting = Meeting()
let rounds = 50
nonisolated(unsafe) var kept: [Node?] = []

@main
enum Program {
  static func main() {
    var iterating = pthread_t(), making = pthread_t()
    pthread_create(&iterating, nil, { _ in Program.iterate() }, nil)
    pthread_create(&making, nil, { _ in Program.makeObjects() }, nil)
    pthread_join(iterating, nil)
    pthread_join(making, nil)
    say("met \(rounds) times")
    printTruth(Node.tally)
    exit(0)
  }

  static func iterate() -> UnsafeMutableRawPointer? {
    for _ in 0..<rounds {
      sem_wait(meeting.isHeld)
      while_loader_is_locked(
        { _ in
          sem_post(meeting.isInside)
          pthread_mutex_lock(meeting.lock)
          pthread_mutex_unlock(meeting.lock)
        }, nil)
      sem_post(meeting.isOver)
    }
    return nil
  }

  static func makeObjects() -> UnsafeMutableRawPointer? {
    for round in 0..<rounds {
      pthread_mutex_lock(meeting.lock)
      sem_post(meeting.isHeld)
      sem_wait(meeting.isInside)
      kept.append(chain(round % 30))
      if round % 3 == 0 { kept.removeLast() }
      pthread_mutex_unlock(meeting.lock)
      sem_wait(meeting.isOver)
    }
    return nil
  }

  /// One object at each of several depths: new stacks, nothing that an unwinder has in its cache.
  @inline(never) static func chain(_ depth: Int) -> Node? {
    guard depth > 0 else { return nil }
    let next = depth % 2 == 0 ? chain(depth - 1) : otherwise(depth - 1)
    return Node(next)
  }

  @inline(never) static func otherwise(_ depth: Int) -> Node? { Node(chain(depth - 1)) }
}
