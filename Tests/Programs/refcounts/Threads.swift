// Eight threads that load weak and unowned references, retain, release and exchange the same objects.

import Foundation

final class Shared {
  let number: Int
  var next: Shared?
  init(_ number: Int) { self.number = number }
}

final class Weakly: @unchecked Sendable {
  weak var weakly: Shared?
  unowned let unownedly: Shared
  init(_ shared: Shared) {
    weakly = shared
    unownedly = shared
  }
}

final class Slot: @unchecked Sendable {
  private let lock = NSLock()
  private var shared: Shared?
  func exchange(_ new: Shared?) -> Shared? {
    lock.lock()
    defer { lock.unlock() }
    let old = shared
    shared = new
    return old
  }
}

func threads() {
  let shared = (0..<16).map { Shared($0) }
  let references = shared.map { Weakly($0) }
  let slots = (0..<8).map { _ in Slot() }
  nonisolated(unsafe) let objects = shared
  DispatchQueue.concurrentPerform(iterations: 8) { thread in
    var sum = 0
    var held: [Shared] = []
    for step in 0..<6_000 {
      let at = (step &* 7 &+ thread) % objects.count
      if let loaded = references[at].weakly { sum += loaded.number }
      let owned = references[at].unownedly
      sum += owned.number
      if step % 3 == 0 { held.append(objects[at]) }
      if held.count > 50 { held.removeFirst(25) }
      let made = Shared(step)
      made.next = owned
      if let old = slots[step % slots.count].exchange(made) { sum += old.number }
    }
    keep(held)
    keep(sum)
  }
  keep(shared)
  keep(references)
  keep(slots)
}
