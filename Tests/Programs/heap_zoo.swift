// Every kind of reference, 20 times held and 20 times leaked: an object of HeldKIND hangs at a global behind that kind of reference, one of LeakedKIND at
// something that refers to itself and at nothing else, or is referred to by nothing that keeps it. Prints what is leaked, by type.
import Glibc
import Synchronization

class Animal {
  let mark = 7
}
protocol Pet: AnyObject {}
protocol Thing {}

/// What holds: at a global, or in a cycle with itself alone.
final class Anchor {
  var itself: Anchor?
  var kept: [AnyObject] = []
}
var anchors: [Anchor] = []
var expected: [(String, Int)] = []
let times = 20

/// `make` gives what refers to the object, twenty times for each.
func zoo<Held: AnyObject, Leaked: AnyObject>(
  _ held: Held.Type, _ leaked: Leaked.Type, _ make: (_ leaks: Bool) -> AnyObject
) {
  for _ in 0..<times {
    let anchor = Anchor()
    anchor.kept.append(make(false))
    anchors.append(anchor)
    let lost = Anchor()
    lost.kept.append(make(true))
    lost.itself = lost
  }
  expected.append(("\(held)", 0))
  expected.append(("\(leaked)", times))
}

// MARK: Kinds of references

final class HeldStrong: Animal, Pet, Thing {}
final class LeakedStrong: Animal, Pet, Thing {}
final class Strong {
  let number: Int
  let other: Animal
  init(_ other: Animal) { (number, self.other) = (1, other) }
}

final class HeldOptional: Animal {}
final class LeakedOptional: Animal {}
final class MaybeOne {
  var other: Animal?
  init(_ other: Animal) { self.other = other }
}

final class HeldExistential: Pet, Thing {}
final class LeakedExistential: Pet, Thing {}
final class Existential {
  let thing: any Thing, pet: any Pet
  let whatever: Any
  init(_ thing: any Thing & Pet) { (self.thing, pet, whatever) = (thing, thing, thing) }
}

enum Payload {
  case none
  case number(Int)
  case animal(Animal)
  case both(Animal, Int)
  indirect case deep(Payload, Payload)
}
final class HeldPayload: Animal {}
final class LeakedPayload: Animal {}
final class HeldIndirect: Animal {}
final class LeakedIndirect: Animal {}
final class Case {
  let value: Payload
  init(_ value: Payload) { self.value = value }
}

final class HeldTuple: Animal {}
final class LeakedTuple: Animal {}
final class Tuple {
  let pair: (Int8, Animal, name: String)
  init(_ other: Animal) { pair = (1, other, "a name that does not fit into sixteen bytes") }
}

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

final class HeldClosure: Animal {}
final class LeakedClosure: Animal {}
final class Closures {
  var one: () -> Int = { 0 }
  var several: (Int) -> Int = { $0 }
}

final class HeldLazy: Animal {}
final class LeakedLazy: Animal {}
final class Lazy {
  var make: (() -> Animal)?
  lazy var animal: Animal = make?() ?? Animal()
}

@propertyWrapper struct Wrapped<Value> {
  private var store: [Value]
  init(wrappedValue: Value) { store = [wrappedValue] }
  var wrappedValue: Value {
    get { store[0] }
    set { store[0] = newValue }
  }
}
final class HeldWrapped: Animal {}
final class LeakedWrapped: Animal {}
final class Wrapper {
  @Wrapped var animal: Animal
  init(_ animal: Animal) { _animal = Wrapped(wrappedValue: animal) }
}

final class HeldActor: Animal {}
final class LeakedActor: Animal {}
actor Keeper {
  let animal: Animal
  init(_ animal: Animal) { self.animal = animal }
}

final class HeldBuffer: Animal {}
final class LeakedBuffer: Animal {}

class Base {
  var animal: Animal
  init(_ animal: Animal) { self.animal = animal }
}
final class Derived: Base {
  var more = [1, 2, 3]
}
final class HeldSuper: Animal {}
final class LeakedSuper: Animal {}

final class Generic<Value> {
  let before: Int8 = 1
  let value: Value
  init(_ value: Value) { self.value = value }
}
final class HeldGeneric: Animal {}
final class LeakedGeneric: Animal {}

struct Unique: ~Copyable {
  let animal: Animal
}
final class Uniquely {
  let number = 3
  let unique: Unique
  init(_ animal: Animal) { unique = Unique(animal: animal) }
}
final class HeldUnique: Animal {}
final class LeakedUnique: Animal {}

final class Locked: @unchecked Sendable {
  let counter = Atomic<Int>(5)
  let animal: Mutex<Animal?>
  init(_ animal: Animal) { self.animal = Mutex(animal) }
}
final class HeldMutex: Animal, @unchecked Sendable {}
final class LeakedMutex: Animal, @unchecked Sendable {}

// MARK: References that do not keep

final class LeakedWeak {
  var itself: LeakedWeak?
}
final class LeakedUnowned {
  var itself: LeakedUnowned?
}
final class LeakedUnsafe {
  var itself: LeakedUnsafe?
}
final class LeakedUnmanaged {
  var itself: LeakedUnmanaged?
}
final class LeakedUnownedInStruct {
  var itself: LeakedUnownedInStruct?
}
final class LeakedUnownedInClosure {
  var itself: LeakedUnownedInClosure?
}
final class LeakedUnownedExistential: Pet {
  var itself: LeakedUnownedExistential?
}
struct Backwards {
  unowned let object: LeakedUnownedInStruct
  var count = 1
}
final class Weakly {
  weak var object: LeakedWeak?
  unowned var other: LeakedUnowned
  unowned(unsafe) var third: LeakedUnsafe
  var fourth: Unmanaged<LeakedUnmanaged>
  let fifth: Backwards
  var sixth: () -> Int
  unowned let seventh: any Pet
  init(
    _ object: LeakedWeak, _ other: LeakedUnowned, _ third: LeakedUnsafe, _ fourth: LeakedUnmanaged,
    _ fifth: LeakedUnownedInStruct, _ sixth: LeakedUnownedInClosure, _ seventh: LeakedUnownedExistential
  ) {
    (self.object, self.other, self.third, self.fourth) = (object, other, third, Unmanaged.passUnretained(fourth))
    self.fifth = Backwards(object: fifth)
    self.sixth = { [unowned sixth, count = fifth.itself == nil ? 1 : 2] in sixth.itself == nil ? count : 2 }
    self.seventh = seventh
  }
}
final class HeldZombie {}
final class AfterLife {
  unowned let gone: HeldZombie
  init(_ gone: HeldZombie) { self.gone = gone }
}
final class LeakedByRetain: Animal {}
final class LeakedFromRemoved: Animal {}
final class LeakedFromPopped: Animal {}

@inline(never) func references() {
  zoo(HeldStrong.self, LeakedStrong.self) { Strong($0 ? LeakedStrong() : HeldStrong()) }
  zoo(HeldOptional.self, LeakedOptional.self) { MaybeOne($0 ? LeakedOptional() : HeldOptional()) }
  zoo(HeldExistential.self, LeakedExistential.self) { Existential($0 ? LeakedExistential() : HeldExistential()) }
  zoo(HeldPayload.self, LeakedPayload.self) { Case(.both($0 ? LeakedPayload() : HeldPayload(), 3)) }
  zoo(HeldIndirect.self, LeakedIndirect.self) {
    Case(.deep(.number(1), .deep(.none, .animal($0 ? LeakedIndirect() : HeldIndirect()))))
  }
  zoo(HeldTuple.self, LeakedTuple.self) { Tuple($0 ? LeakedTuple() : HeldTuple()) }
  zoo(HeldSuper.self, LeakedSuper.self) { Derived($0 ? LeakedSuper() : HeldSuper()) }
  zoo(HeldGeneric.self, LeakedGeneric.self) { Generic(($0, Optional($0 ? LeakedGeneric() as Animal : HeldGeneric()))) }
  zoo(HeldUnique.self, LeakedUnique.self) { Uniquely($0 ? LeakedUnique() : HeldUnique()) }
  zoo(HeldMutex.self, LeakedMutex.self) { Locked($0 ? LeakedMutex() : HeldMutex()) }
  zoo(HeldWrapped.self, LeakedWrapped.self) { Wrapper($0 ? LeakedWrapped() : HeldWrapped()) }
  zoo(HeldActor.self, LeakedActor.self) { Keeper($0 ? LeakedActor() : HeldActor()) }
}

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

@inline(never) func closures() {
  zoo(HeldClosure.self, LeakedClosure.self) {
    let c = Closures()
    let animal: Animal = $0 ? LeakedClosure() : HeldClosure()
    let other = Animal(), number = anchors.count
    c.one = { animal.mark }
    c.several = { $0 + animal.mark + other.mark + number }
    return c
  }
  zoo(HeldLazy.self, LeakedLazy.self) { leaks in
    let lazy = Lazy()
    lazy.make = { leaks ? LeakedLazy() : HeldLazy() }
    _ = lazy.animal
    lazy.make = nil
    return lazy
  }
}

/// References to objects that only hold themselves, in objects that a global holds.
@inline(never) func backwards() {
  for _ in 0..<times {
    let a = LeakedWeak(), b = LeakedUnowned(), c = LeakedUnsafe(), d = LeakedUnmanaged()
    let e = LeakedUnownedInStruct(), f = LeakedUnownedInClosure(), g = LeakedUnownedExistential()
    (a.itself, b.itself, c.itself, d.itself, e.itself, f.itself, g.itself) = (a, b, c, d, e, f, g)
    let anchor = Anchor()
    anchor.kept.append(Weakly(a, b, c, d, e, f, g))
    anchors.append(anchor)
  }
  expected += [
    ("LeakedWeak", times), ("LeakedUnowned", times), ("LeakedUnsafe", times), ("LeakedUnmanaged", times),
    ("LeakedUnownedInStruct", times), ("LeakedUnownedInClosure", times), ("LeakedUnownedExistential", times),
  ]
}

@inline(never) func zombieHolder() -> Anchor {
  let anchor = Anchor()
  anchor.kept.append(AfterLife(HeldZombie()))
  return anchor
}

/// A sum of addresses, which is none: so that no optimiser makes an object vanish that nobody can find.
public var sum: UInt = 0
@inline(never) func lose(_ object: AnyObject) {
  sum &+= UInt(bitPattern: Unmanaged.passRetained(object).toOpaque()) >> 4
}

/// What collections have held: retained once more, then taken out.
@inline(never) func leftBehind() {
  var table: [Int: LeakedFromRemoved] = [:]
  var list: [LeakedFromPopped] = []
  for i in 0..<(10 * times) {
    table[i] = LeakedFromRemoved()
    list.append(LeakedFromPopped())
  }
  for i in 0..<(9 * times) {
    if let gone = table.removeValue(forKey: i) { _ = Unmanaged.passRetained(gone) }
    if let gone = list.popLast() { _ = Unmanaged.passRetained(gone) }
  }
  keptTable = table
  keptList = list
  // Its deinit has run, and its memory is kept: nothing is leaked.
  for _ in 0..<times { anchors.append(zombieHolder()) }
  expected.append(("HeldZombie", 0))
  for _ in 0..<times { lose(LeakedByRetain()) }
  expected += [("LeakedFromRemoved", 9 * times), ("LeakedFromPopped", 9 * times), ("LeakedByRetain", times)]
}
var keptTable: [Int: LeakedFromRemoved] = [:]
var keptList: [LeakedFromPopped] = []

// MARK: Tasks

final class HeldInFrame: Animal, @unchecked Sendable {}
final class LeakedInFrame: Animal, @unchecked Sendable {}
final class HeldTaskLocal: Animal, @unchecked Sendable {}
final class LeakedTaskLocal: Animal, @unchecked Sendable {}
enum Local {
  @TaskLocal static var animal: Animal?
}
/// A task that waits for a continuation: which a global holds, or nobody. On one thread with this function, so that it does wait when this goes on.
@MainActor func tasks() async {
  for leaks in [false, true] {
    for _ in 0..<times {
      let local: Animal = leaks ? LeakedTaskLocal() : HeldTaskLocal()
      await withCheckedContinuation { (ready: CheckedContinuation<Void, Never>) in
        Local.$animal.withValue(local) {
          _ = Task { @MainActor in
            let frame: Animal = leaks ? LeakedInFrame() : HeldInFrame()
            await withUnsafeContinuation { (end: UnsafeContinuation<Void, Never>) in
              if !leaks { ends.append(end) }
              ready.resume()
            }
            print(frame.mark)
          }
        }
      }
    }
  }
  expected += [("HeldInFrame", 0), ("LeakedInFrame", times), ("HeldTaskLocal", 0), ("LeakedTaskLocal", times)]
}
nonisolated(unsafe) var ends: [UnsafeContinuation<Void, Never>] = []

@main struct Zoo {
  @MainActor static func main() async {
    references()
    collections()
    closures()
    backwards()
    leftBehind()
    await tasks()
    let rows = expected.map { "\"Program.\($0.0)\":\($0.1)" }.joined(separator: ",")
    print("TRUTH {\"leaked\":{\(rows)}}")
    exit(0)
  }
}
