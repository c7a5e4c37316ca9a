// Leaks as people make them, planted among 100,000 living objects, on threads that end and threads that live. Nothing is done to have them
// found: no stack is wiped. Prints how many objects of which type were planted; `blocks` are those of malloc.
import Glibc

class Living {
  var number = 0
}
final class Node: Living {
  var left: Node?
  var right: Node?
  weak var parent: Node?
}

/// Counted, so that the optimizer can't leave one out or lay it on a stack.
class Counted {
  var number = 1
  @inline(never) init() { made += 1 }
  deinit { made -= 1 }
}
nonisolated(unsafe) var made = 0

final class PairA { var other: PairB? }
final class PairB { var other: PairA? }
final class TriangleA { var next: TriangleB? }
final class TriangleB { var next: TriangleC? }
final class TriangleC { var next: TriangleA? }
final class RingOfThousand { var next: RingOfThousand? }
final class Parent { var children: [Child] = [] }
final class Child {
  let parent: Parent
  init(_ parent: Parent) { self.parent = parent }
}
final class LostRetain: Counted {}
final class LostUnmanaged: Counted {}
final class OverwrittenPointer: Counted {}
final class SelfCapturing {
  var handler: (() -> Int)?
  let number = 1
}
final class SelfCapturingMore {
  var handler: ((Int) -> Int)?
  let number = 1
}
final class InSuspendedTask: Counted, @unchecked Sendable {}
final class AtDepth: Counted { var itself: AtDepth? }
final class OnLivingThread: Counted { var itself: OnLivingThread? }
final class OnEndedThread: Counted { var itself: OnEndedThread? }
final class LostHead { var next: LostLink? }
final class LostLink { var next: LostLink? }
final class Removed { let number = 1 }
final class InLostArray { let number = 1 }
final class InLostTable { let number = 1 }

nonisolated(unsafe) var planted: [String: Int] = [:]
func plant<T>(_ type: T.Type, _ count: Int) { planted["\(type)", default: 0] += count }

// MARK: What lives

nonisolated(unsafe) var table: [Int: Living] = [:]
nonisolated(unsafe) var list: [Living] = []
nonisolated(unsafe) var root: Node?

@inline(never) func tree(_ depth: Int) -> Node {
  let node = Node()
  guard depth > 0 else { return node }
  (node.left, node.right) = (tree(depth - 1), tree(depth - 1))
  node.left?.parent = node
  return node
}

@inline(never) func live() {
  for index in 0..<40_000 { table[index] = Living() }
  for _ in 0..<27_233 { list.append(Living()) }
  root = tree(14)
}

// MARK: What leaks

@inline(never) func cycles() {
  for _ in 0..<100 {
    let (a, b) = (PairA(), PairB())
    (a.other, b.other) = (b, a)
    let (x, y, z) = (TriangleA(), TriangleB(), TriangleC())
    (x.next, y.next, z.next) = (y, z, x)
    let parent = Parent()
    for _ in 0..<5 { parent.children.append(Child(parent)) }
  }
  for _ in 0..<2 {
    let first = RingOfThousand()
    var last = first
    for _ in 1..<1000 {
      let next = RingOfThousand()
      last.next = next
      last = next
    }
    last.next = first
  }
  plant(PairA.self, 100)
  plant(PairB.self, 100)
  plant(TriangleA.self, 100)
  plant(TriangleB.self, 100)
  plant(TriangleC.self, 100)
  plant(Parent.self, 100)
  plant(Child.self, 500)
  plant(RingOfThousand.self, 2000)
}

@inline(never) func use(_ pointer: UnsafeMutableRawPointer) { sum &+= Int(bitPattern: pointer) & 1 }
nonisolated(unsafe) var sum = 0
nonisolated(unsafe) var slot: UnsafeMutableRawPointer?
@inline(never) func keep(_ pointer: UnsafeMutableRawPointer?) { slot = pointer }

@inline(never) func lostReferences() {
  for _ in 0..<200 {
    use(Unmanaged.passRetained(LostRetain()).retain().toOpaque())
    keep(Unmanaged.passRetained(OverwrittenPointer()).toOpaque())
    keep(nil)
    let unmanaged = Unmanaged.passRetained(LostUnmanaged())
    sum &+= unmanaged.takeUnretainedValue().number
  }
  for _ in 0..<100 {
    let head = LostHead()
    var last = LostLink()
    head.next = last
    for _ in 1..<10 {
      let next = LostLink()
      last.next = next
      last = next
    }
    use(Unmanaged.passRetained(head).toOpaque())
  }
  plant(LostRetain.self, 200)
  plant(OverwrittenPointer.self, 200)
  plant(LostUnmanaged.self, 200)
  plant(LostHead.self, 100)
  plant(LostLink.self, 1000)
}

final class Storage<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
}

@inline(never) func collections() {
  var removed = Dictionary(uniqueKeysWithValues: (0..<400).map { ($0, Removed()) })
  for index in 0..<300 {
    if let gone = removed.removeValue(forKey: index) { use(Unmanaged.passRetained(gone).toOpaque()) }
  }
  kept = removed
  for _ in 0..<20 {
    let array = Storage((0..<10).map { _ in InLostArray() })
    use(Unmanaged.passRetained(array).toOpaque())
    let table = Storage(Dictionary(uniqueKeysWithValues: (0..<10).map { ("key \($0)", InLostTable()) }))
    use(Unmanaged.passRetained(table).toOpaque())
  }
  plant(Removed.self, 300)
  plant(InLostArray.self, 200)
  plant(InLostTable.self, 200)
}
nonisolated(unsafe) var kept: [Int: Removed] = [:]

@inline(never) func closures() {
  for index in 0..<100 {
    let one = SelfCapturing(), more = SelfCapturingMore(), other = Living()
    one.handler = { one.number }
    more.handler = { $0 + more.number + index + other.number }
  }
  plant(SelfCapturing.self, 100)
  plant(SelfCapturingMore.self, 100)
}

@inline(never) func down(_ depth: Int) -> Int {
  let object = AtDepth()
  object.itself = object
  return depth == 0 ? 1 : down(depth - 1) &+ sum
}

@inline(never) func blocks() {
  for size in 1...100 { if let block = malloc(size * 8) { use(block) } }
  for _ in 0..<50 {
    guard let a = malloc(64), let b = malloc(96) else { return }
    a.storeBytes(of: b, as: UnsafeMutableRawPointer.self)
    b.storeBytes(of: a, as: UnsafeMutableRawPointer.self)
  }
}

/// Not in the task's frame itself.
@inline(never) func newInTask() -> InSuspendedTask { InSuspendedTask() }

@MainActor func tasks() async {
  for _ in 0..<50 {
    await withCheckedContinuation { (ready: CheckedContinuation<Void, Never>) in
      _ = Task { @MainActor in
        let object = newInTask()
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in ready.resume() }
        print(object.number)
      }
    }
  }
  plant(InSuspendedTask.self, 50)
}

// MARK: Threads

nonisolated(unsafe) var parked = pthread_barrier_t()
@inline(never) func leakOnThread() {
  for _ in 0..<100 {
    let object = OnLivingThread()
    object.itself = object
  }
}

@inline(never) func threads() {
  pthread_barrier_init(&parked, nil, 9)
  var thread = pthread_t()
  for _ in 0..<8 {
    pthread_create(
      &thread, nil,
      { _ in
        leakOnThread()
        pthread_barrier_wait(&parked)
        while true { sleep(1000) }
      }, nil)
    var ended = pthread_t()
    pthread_create(
      &ended, nil,
      { _ in
        for _ in 0..<100 {
          let object = OnEndedThread()
          object.itself = object
        }
        return nil
      }, nil)
    pthread_join(ended, nil)
  }
  pthread_barrier_wait(&parked)
  plant(OnLivingThread.self, 800)
  plant(OnEndedThread.self, 800)
}

@main struct Planted {
  @MainActor static func main() async {
    live()
    cycles()
    lostReferences()
    collections()
    closures()
    sum &+= down(200)
    plant(AtDepth.self, 201)
    blocks()
    threads()
    await tasks()
    let rows = planted.map { "\"Program.\($0.key)\":\($0.value)" }.joined(separator: ",")
    print("TRUTH {\"planted\":{\(rows)},\"blocks\":200}")
    exit(0)
  }
}
