// By which kinds of storage an object is held.

final class HeldArray: Animal {}
final class LeakedArray: Animal {}
final class HeldValue: Animal {}
final class LeakedValue: Animal {}
final class HeldKey: Hashable {
  static func == (a: HeldKey, b: HeldKey) -> Bool { a === b }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
final class LeakedKey: Hashable {
  static func == (a: LeakedKey, b: LeakedKey) -> Bool { a === b }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
final class Collections {
  var list: [Animal] = []
  var table: [String: Animal] = [:]
  var keys: [AnyHashable: Int] = [:]
  var set: Set<AnyHashable> = []
}

final class HeldBuffer: Animal {}
final class LeakedBuffer: Animal {}

@inline(never) func collections() {
  zoo(HeldArray.self, LeakedArray.self) {
    let c = Collections()
    c.list.reserveCapacity(50)
    c.list = [Animal(), $0 ? LeakedArray() : HeldArray(), Animal()]
    return c
  }
  zoo(HeldValue.self, LeakedValue.self) {
    let c = Collections()
    for i in 0..<5 { c.table["number \(i)"] = Animal() }
    c.table["it"] = $0 ? LeakedValue() : HeldValue()
    return c
  }
  zoo(HeldKey.self, LeakedKey.self) {
    let c = Collections()
    let key: AnyHashable = $0 ? AnyHashable(LeakedKey()) : AnyHashable(HeldKey())
    for i in 0..<5 { c.set.insert(i) }
    c.set.insert(key)
    c.keys[key] = 1
    return c
  }
  zoo(HeldBuffer.self, LeakedBuffer.self) { leaks in
    let buffer = ManagedBuffer<Int, Animal>.create(minimumCapacity: 4) { _ in 2 }
    buffer.withUnsafeMutablePointerToElements {
      $0.initialize(to: Animal())
      ($0 + 1).initialize(to: leaks ? LeakedBuffer() : HeldBuffer())
    }
    return buffer
  }
}
