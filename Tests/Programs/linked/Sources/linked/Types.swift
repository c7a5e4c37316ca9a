// The types that the program counts: everything that can be Tracked, and what is not.
import Lifespan

final class Session: Tracked, Sendable {
  let number: Int
  init(number: Int) { self.number = number }
}

class Node: TrackedObject {
  var next: Node?
}

final class Leaf: Node {
  var payload: (Int, Int) = (1, 2)
}

actor Counter: Tracked {
  var value = 0
  func add() { value += 1 }
}

final class Crate<Content>: Tracked {
  var content: Content
  init(_ content: Content) { self.content = content }
}

final class Bytes: ManagedBuffer<Int, UInt8>, Tracked {
  static func make(_ count: Int) -> ManagedBuffer<Int, UInt8> {
    Bytes.create(minimumCapacity: count) { _ in count }
  }
}

/// Tracked by Allocations.track alone.
class Named {
  var value = 0
}

final class NamedChild: Named {}

final class Untracked {
  var value = 0
}

/// Left out by a rule.
final class PageCache: Tracked {
  var value = 0
}

struct Upload: ~Copyable {
  let token = Allocations.Token("Upload")
}

struct Entry {
  let token = Allocations.Token("Entry", bytes: 100)
}
