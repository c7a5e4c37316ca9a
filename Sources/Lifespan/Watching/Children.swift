// The objects that are expected to die with another one. Collected where an expectation begins, on its caller's thread.
#if Recording
internal import CLinkedDoor

/// An object that another one held when it was expected to die.
struct Child {
  /// nil: known by its address alone.
  weak var object: AnyObject?
  var address: UInt { ~place }
  /// Not the address itself: who is watched must not be held by that in the eyes of `Allocations.leaks()`.
  private let place: UInt
  /// Ticks of the recording: whatever was born at the address later is another object.
  var ticks: UInt64
  /// From the expected object to it: `page.timer`.
  var path: String
  var isWeak: Bool

  init(object: AnyObject?, address: UInt, ticks: UInt64, path: String, isWeak: Bool) {
    (self.object, place, self.ticks, self.path, self.isWeak) = (object, ~address, ticks, path, isWeak)
  }
}

/// What the children of a class's objects are found by.
struct WatchedClass {
  var fields: [StrongField]
  /// The class says itself what must die with its objects: asked once, as a cast costs more than all else here.
  var isManaged: Bool

  init(_ type: any AnyObject.Type) {
    fields = StrongFields.of(type)
    isManaged = type is any ManagedLifetime.Type
  }
}

/// Classes, as long as they live: for ever.
struct ClassTable {
  private var classes: [ObjectIdentifier: WatchedClass] = [:]

  func known(_ type: any AnyObject.Type) -> WatchedClass? { classes[ObjectIdentifier(type)] }
  mutating func learn(_ type: any AnyObject.Type, _ found: WatchedClass) { classes[ObjectIdentifier(type)] = found }
}

struct ChildSearch {
  private static let limit = 64
  private(set) var children: [Child] = []
  private let ticks = lifespan_watch_ticks()
  private let known: (any AnyObject.Type) -> WatchedClass
  private let parent: UInt
  private var parentBorn: UInt64??

  init(of object: AnyObject, known: @escaping (any AnyObject.Type) -> WatchedClass) {
    self.known = known
    parent = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    walk(object, "", depth: 0)
  }

  /// Few enough for a look at each: a set would cost an allocation more.
  private func isSeen(_ word: UInt) -> Bool { word == parent || children.contains { $0.address == word } }

  /// `owner`: the path to the object; of the expected one itself it is empty.
  private mutating func walk(_ object: AnyObject, _ owner: String, depth: Int) {
    guard depth < 8 else { return }
    let itself = known(type(of: object))
    if itself.isManaged, let managing = object as? any ManagedLifetime {
      for child in managing.objectsExpectedToDieWithThis { add(child, Self.path(owner, "\(type(of: child))"), depth) }
    }
    let base = UnsafeRawPointer(Unmanaged.passUnretained(object).toOpaque())
    if children.isEmpty { children.reserveCapacity(min(itself.fields.count, Self.limit)) }
    for field in itself.fields where children.count < Self.limit {
      let word = base.load(fromByteOffset: field.offset, as: UInt.self)
      guard word != 0, word & 7 == 0, word >> 48 == 0 else { continue }
      let name = Self.path(owner, field.name)
      switch field.shape {
      case .object where field.isVariable: note(word, name)
      case .object: take(word, name, depth)
      case .array: takeElements(word, name, depth)
      }
    }
    withExtendedLifetime(object) {}
  }

  private static func path(_ owner: String, _ name: String) -> String { owner.isEmpty ? name : owner + "." + name }

  /// What a constant holds lives as long as its owner, which the caller holds.
  private mutating func take(_ word: UInt, _ path: String, _ depth: Int) {
    guard let pointer = UnsafeRawPointer(bitPattern: word), !isSeen(word) else { return }
    guard isOwned(strongCount(word) { $0.load(as: UInt64.self) }, word) else { return }
    add(Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue(), path, depth)
  }

  private mutating func takeElements(_ buffer: UInt, _ path: String, _ depth: Int) {
    guard let pointer = UnsafeRawPointer(bitPattern: buffer) else { return }
    let count = pointer.load(fromByteOffset: 16, as: Int.self)
    for index in 0..<max(0, min(count, Self.limit - children.count)) {
      let word = pointer.load(fromByteOffset: 32 + 8 * index, as: UInt.self)
      guard word != 0, word & 7 == 0, word >> 48 == 0 else { continue }
      take(word, "\(path)[\(index)]", depth)
    }
  }

  private mutating func add(_ object: AnyObject, _ path: String, _ depth: Int) {
    let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    guard children.count < Self.limit, !isSeen(address) else { return }
    children.append(Child(object: object, address: address, ticks: ticks, path: path, isWeak: true))
    walk(object, path, depth: depth + 1)
  }

  /// What a variable holds may be gone in a moment: its address is all that is kept, and the recording says later who lives there.
  private mutating func note(_ word: UInt, _ path: String) {
    guard ticks != 0, !isSeen(word) else { return }
    let count = strongCount(word) { place in
      var value: UInt64 = 0
      return lifespan_watch_read(UInt64(UInt(bitPattern: place)), &value, 8) ? value : nil
    }
    guard isOwned(count, word) else { return }
    children.append(Child(object: nil, address: word, ticks: ticks, path: path, isWeak: false))
  }

  /// By the object's own word, or its side table's; nil: it has no count (it is static), or its memory is gone.
  private func strongCount(_ object: UInt, _ read: (UnsafeRawPointer) -> UInt64?) -> UInt64? {
    guard let word = UnsafeRawPointer(bitPattern: object + 8).flatMap(read) else { return nil }
    if word >> 63 == 0 { return UInt32(truncatingIfNeeded: word) == UInt32.max ? nil : (word >> 33 & 0x3fff_ffff) + 1 }
    guard let side = UnsafeRawPointer(bitPattern: UInt(truncatingIfNeeded: word << 3) + 16).flatMap(read) else {
      return nil
    }
    return (side >> 33 & 0x3fff_ffff) + 1
  }

  /// Whether it is its owner's: nobody else holds it, or it was made after its owner. What is older and shared (a logger, a pool that was
  /// handed in) is not expected to die. Static objects never do.
  private mutating func isOwned(_ count: UInt64?, _ word: UInt) -> Bool {
    guard let count, count > 1 else { return count != nil }
    guard lifespan_watch_asks_at_once(), let born = ownerBorn() else { return false }
    return Door.object(at: UInt64(word)).map { $0.ticks > born } ?? false
  }

  private mutating func ownerBorn() -> UInt64? {
    if let known = parentBorn { return known }
    let born = Door.object(at: UInt64(parent))?.ticks
    parentBorn = .some(born)
    return born
  }
}
#endif
