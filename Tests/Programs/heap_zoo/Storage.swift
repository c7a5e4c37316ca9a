// By which kinds of storage an object is held, continued; and a deque as swift-collections has it.

enum Stored {
  enum SetMember {}
  enum AmongRemoved {}
  enum Slice {}
  enum Contiguous {}
  enum Optionals {}
  enum Tuples {}
  enum Existentials {}
  enum Functions {}
  enum Cases {}
  enum TableOfLists {}
  enum Deque {}
  enum WrappedDeque {}
  enum BufferHeader {}
  enum LazySequence {}
  enum Iterator {}
  enum PoppedFromDeque {}
  enum RemovedFromSet {}
  enum BehindKeyPath {}
  enum InActorsQueue {}
  enum InUnusedPayload {}
}

struct Outermost {
  var before = 1
  var inner = Innermost()
}
struct Innermost {
  var before: Int32 = 1
  var last: Int32 = 2
}

struct DequeHeader {
  var capacity: Int
  var count: Int
  var startSlot: Int
}

/// A ring of places behind a head; what was taken out is still to be read in its place.
final class _DequeBuffer<Element>: ManagedBuffer<DequeHeader, Element> {
  deinit {
    let header = self.header
    withUnsafeMutablePointerToElements { elements in
      for index in 0..<header.count {
        (elements + (header.startSlot + index) % header.capacity).deinitialize(count: 1)
      }
    }
  }
}

struct Deque<Element> {
  private let buffer: _DequeBuffer<Element>

  init(capacity: Int) {
    let made = _DequeBuffer<Element>.create(minimumCapacity: capacity) { _ in
      DequeHeader(capacity: capacity, count: 0, startSlot: 0)
    }
    buffer = unsafeDowncast(made, to: _DequeBuffer<Element>.self)
  }

  func append(_ element: Element) {
    buffer.withUnsafeMutablePointers { header, elements in
      (elements + (header.pointee.startSlot + header.pointee.count) % header.pointee.capacity).initialize(to: element)
      header.pointee.count += 1
    }
  }

  func popFirst() -> Element? {
    buffer.withUnsafeMutablePointers { header, elements in
      guard header.pointee.count > 0 else { return nil }
      let element = (elements + header.pointee.startSlot).move()
      header.pointee.startSlot = (header.pointee.startSlot + 1) % header.pointee.capacity
      header.pointee.count -= 1
      return element
    }
  }
}

@inline(never) func storage() {
  zoo(Stored.SetMember.self) { Keeping<Set<Key>>([Key(animal: Animal()), Key(animal: $0), Key(animal: Animal())]) }
  zoo(Stored.AmongRemoved.self) {
    var table = Dictionary(uniqueKeysWithValues: (0..<100).map { ($0, Animal()) })
    table[50] = $0
    for index in 0..<100 where index != 50 { table[index] = nil }
    return Keeping(table)
  }
  zoo(Stored.Slice.self) { Keeping<ArraySlice<Animal>>([$0, Animal(), Animal(), Animal()][2...]) }
  zoo(Stored.Contiguous.self) { Keeping<ContiguousArray<Animal>>([Animal(), $0]) }
  zoo(Stored.Optionals.self) { Keeping<[Animal?]>([nil, $0, nil]) }
  zoo(Stored.Tuples.self) { Keeping<[(Int8, Animal, Bool)]>([(1, Animal(), true), (2, $0, false)]) }
  zoo(Stored.Existentials.self) { Keeping<[any Thing]>([Large(animal: Animal()), Large(animal: $0)]) }
  zoo(Stored.Functions.self) { animal in Keeping<[() -> Int]>([{ 1 }, { animal.mark }]) }
  zoo(Stored.Cases.self) { Keeping<[OneOfFour]>([.nothing, .text("text"), .wide(1, $0)]) }
  zoo(Stored.TableOfLists.self) { Keeping<[String: [Int: [Animal]]]>(["a": [1: [Animal(), $0], 2: []], "b": [:]]) }
  zoo(Stored.Deque.self) {
    let deque = Deque<Animal>(capacity: 8)
    for _ in 0..<5 { deque.append(Animal()) }
    deque.append($0)
    return Keeping(deque)
  }
  zoo(Stored.WrappedDeque.self) {
    let deque = Deque<(Int8, Animal)>(capacity: 4)
    for index in 0..<7 {
      deque.append((1, index == 5 ? $0 : Animal()))
      if index > 2 { _ = deque.popFirst() }
    }
    return Keeping(deque)
  }
  zoo(Stored.BufferHeader.self) { animal in
    ManagedBuffer<(Int8, Animal), Int>.create(minimumCapacity: 3) { _ in (1, animal) }
  }
  zoo(Stored.LazySequence.self) { animal in Keeping<Any>([1, 2, 3].lazy.map { $0 + animal.mark }) }
  zoo(Stored.Iterator.self) { Keeping(AnyIterator([Animal(), $0, Animal()].makeIterator())) }
}

/// In the memory behind a key path's parts, which is the allocator's: what lay there before.
@inline(never) func leaveBehindKeyPath(_ object: Leaked<Stored.BehindKeyPath>) {
  object.itself = object
  let path = (\Outermost.inner).appending(path: \Innermost.last)
  anchors.append(Anchor())
  anchors.last?.kept.append(path)
  let memory = Unmanaged.passUnretained(path).toOpaque()
  let parts = 32 + (memory.load(fromByteOffset: 24, as: Int.self) & 0xffffff)
  let usable = (memory.load(fromByteOffset: -8, as: Int.self) & ~7) - 8
  let place = (parts + 7) & ~7
  if place + 8 <= usable {
    memory.storeBytes(
      of: Unmanaged.passUnretained(object).toOpaque(), toByteOffset: place, as: UnsafeMutableRawPointer.self)
  }
}

actor Idle {}

/// In the last word of an actor's queue, where the end of a list that is empty now may have been.
@inline(never) func leaveInQueue(_ object: Leaked<Stored.InActorsQueue>) {
  object.itself = object
  let actor = Idle()
  anchors.append(Anchor())
  anchors.last?.kept.append(actor)
  let memory = Unmanaged.passUnretained(actor).toOpaque()
  guard memory.load(fromByteOffset: 104, as: Int.self) == 0 else { fatalError("the queue's last word is in use") }
  memory.storeBytes(
    of: Unmanaged.passUnretained(object).toOpaque(), toByteOffset: 104, as: UnsafeMutableRawPointer.self)
}

/// In the part of an enum's payload that its case does not use: what lay on the stack where the value was made.
@inline(never) func leaveInPayload(_ object: Leaked<Stored.InUnusedPayload>) {
  object.itself = object
  let holder = Case(.number(7))
  anchors.append(Anchor())
  anchors.last?.kept.append(holder)
  Unmanaged.passUnretained(holder).toOpaque().storeBytes(
    of: Unmanaged.passUnretained(object).toOpaque(), toByteOffset: 24, as: UnsafeMutableRawPointer.self)
  guard case .number(7) = holder.value else { fatalError("the payload's second word is in use") }
}

/// What a deque and a set have held: retained once more, then taken out.
@inline(never) func leftInStorage() {
  let deque = Deque<Animal>(capacity: 10 * times)
  var set: Set<Key> = []
  for _ in 0..<times {
    deque.append(Leaked<Stored.PoppedFromDeque>())
    set.insert(Key(animal: Leaked<Stored.RemovedFromSet>()))
  }
  for _ in 0..<times {
    deque.append(Animal())
    set.insert(Key(animal: Animal()))
  }
  for _ in 0..<times { if let gone = deque.popFirst() { _ = Unmanaged.passRetained(gone) } }
  for key in set where key.animal is Leaked<Stored.RemovedFromSet> {
    _ = Unmanaged.passRetained(key.animal)
    set.remove(key)
  }
  for _ in 0..<times { leaveBehindKeyPath(Leaked<Stored.BehindKeyPath>()) }
  expected.append((String(reflecting: Leaked<Stored.BehindKeyPath>.self), times))
  for _ in 0..<times { leaveInQueue(Leaked<Stored.InActorsQueue>()) }
  expected.append((String(reflecting: Leaked<Stored.InActorsQueue>.self), times))
  for _ in 0..<times { leaveInPayload(Leaked<Stored.InUnusedPayload>()) }
  expected.append((String(reflecting: Leaked<Stored.InUnusedPayload>.self), times))
  keptDeque = deque
  keptSet = set
  expected.append((String(reflecting: Leaked<Stored.PoppedFromDeque>.self), times))
  expected.append((String(reflecting: Leaked<Stored.RemovedFromSet>.self), times))
}
var keptDeque: Deque<Animal>?
var keptSet: Set<Key> = []
