// Eight threads make objects and free each other's: whoever puts an object into a slot frees the one that lay there, so
// addresses go from thread to thread within microseconds. Argument: objects per thread.

import Glibc
import Synchronization

final class Node {
  static let tally = Tally("Node")
  let born = Node.tally.made()
  let payload: Int
  init(_ payload: Int) { self.payload = payload }
  deinit { Node.tally.gone(born) }
}

let slotCount = 512
nonisolated(unsafe) let slots: UnsafeMutablePointer<Atomic<UInt>> = {
  let slots = UnsafeMutablePointer<Atomic<UInt>>.allocate(capacity: slotCount)
  for index in 0..<slotCount { (slots + index).initialize(to: Atomic<UInt>(0)) }
  return slots
}()

@main
enum Program {
  static func main() {
    let perThread = argument(1, default: 12_500)
    var threads: [pthread_t] = []
    for number in 1...8 {
      var thread = pthread_t()
      let work = Unmanaged.passRetained(Work(seed: UInt64(number), count: perThread))
      pthread_create(&thread, nil, { Work.run($0) }, work.toOpaque())
      threads.append(thread)
    }
    for thread in threads { pthread_join(thread, nil) }
    printTruth(Node.tally)
    exit(0)
  }
}

final class Work {
  private var random: UInt64
  private let count: Int
  init(seed: UInt64, count: Int) {
    random = seed &* 0x9e37_79b9_7f4a_7c15
    self.count = count
  }

  static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let context { Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run() }
    return nil
  }

  private func run() {
    for number in 0..<count {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let fresh = Unmanaged.passRetained(Node(number))
      let slot = Int(random >> 33) % slotCount
      let old = slots[slot].exchange(UInt(bitPattern: fresh.toOpaque()), ordering: .acquiringAndReleasing)
      if let old = UnsafeRawPointer(bitPattern: old) { Unmanaged<Node>.fromOpaque(old).release() }
    }
  }
}
