// References that do not keep, inside of other values, in objects that a global holds; what they refer to only holds itself.

enum Unkept {
  enum WeakInStruct {}
  enum WeakInArray {}
  enum WeakInTable {}
  enum WeakCapture {}
  enum WeakExistential {}
  enum OptionalUnowned {}
  enum OptionalUnsafe {}
  enum UnmanagedInStruct {}
  enum UnownedCapture {}
  enum UnsafeCapture {}
  enum InSuper {}
  enum InGeneric {}
  enum UnownedInArray {}
  enum UnmanagedInArray {}
  enum UnmanagedInTable {}
  enum UnownedBehindNumbers {}
  enum UnownedInTuples {}
  enum UnownedInGenericArray {}
  enum UnownedInOptionals {}
  enum UnmanagedInGenericStruct {}
}

enum Side { case left, right, middle }
enum OnlySide { case only }
struct UnownedBox {
  let number: Int8 = 1
  unowned var animal: Animal
}
struct UnmanagedBox {
  let number: Int8 = 1
  var animal: Unmanaged<Animal>
}
/// The compiler lays each of these out in its own way.
struct Numbered {
  let first: Int32 = 1
  let side = Side.right
  let only = OnlySide.only
  let perhaps: Int16? = 3
  let second: UInt16 = 4
  let third: Float? = 5
  let flag: Bool? = true
  unowned var animal: Animal
  let last: CLong = 6
}
struct Both<First, Second> {
  let number: UInt8 = 1
  let first: First
  let second: Second
}
final class UnkeepingNumbered {
  let numbered: Numbered
  init(_ animal: Animal) { numbered = Numbered(animal: animal) }
}
final class UnkeepingPair<Value> {
  let value: Value
  let more: Value?
  unowned let animal: Animal
  let pair: Both<Int32, Value>?
  init(_ value: Value, _ animal: Animal) { (self.value, more, self.animal, pair) = (value, value, animal, nil) }
}
struct WeakBox {
  let number: Int8 = 1
  weak var animal: Animal?
}
final class Unkeeping {
  unowned var perhaps: Animal?
  unowned(unsafe) var unsafely: Animal?
  weak var pet: (any AnyObject)?
  var box: WeakBox?
  var unmanaged: UnmanagedBox?
}
class UnkeepingBase {
  unowned let animal: Animal
  init(_ animal: Animal) { self.animal = animal }
}
final class UnkeepingDerived: UnkeepingBase {
  let more = [1, 2, 3]
}
final class UnkeepingGeneric<Value> {
  let value: Value
  unowned let animal: Animal
  init(_ value: Value, _ animal: Animal) { (self.value, self.animal) = (value, animal) }
}

/// `make` gives what refers to the object without keeping it.
func unkept<Kind>(_ kind: Kind.Type, _ make: (Animal) -> AnyObject) {
  for _ in 0..<times {
    let lost = Leaked<Kind>()
    lost.itself = lost
    let anchor = Anchor()
    anchor.kept.append(make(lost))
    anchors.append(anchor)
  }
  expected.append((String(reflecting: Leaked<Kind>.self), times))
}

@inline(never) func unkeeping(_ set: (Unkeeping) -> Void) -> Unkeeping {
  let made = Unkeeping()
  set(made)
  return made
}

@inline(never) func backwardsInValues() {
  unkept(Unkept.WeakInStruct.self) { animal in unkeeping { $0.box = WeakBox(animal: animal) } }
  unkept(Unkept.WeakInArray.self) { Keeping([WeakBox(animal: $0), WeakBox(animal: $0)]) }
  unkept(Unkept.WeakInTable.self) { Keeping(["one": WeakBox(animal: $0)]) }
  unkept(Unkept.WeakCapture.self) { animal in
    let number = anchors.count
    return Keeping<() -> Int>({ [weak animal] in (animal?.mark ?? 0) + number })
  }
  unkept(Unkept.WeakExistential.self) { animal in unkeeping { $0.pet = animal } }
  unkept(Unkept.OptionalUnowned.self) { animal in unkeeping { $0.perhaps = animal } }
  unkept(Unkept.OptionalUnsafe.self) { animal in unkeeping { $0.unsafely = animal } }
  unkept(Unkept.UnownedCapture.self) { animal in
    let number = anchors.count
    return Keeping<() -> Int>({ [unowned animal] in animal.mark + number })
  }
  unkept(Unkept.UnsafeCapture.self) { animal in
    let number = anchors.count
    return Keeping<() -> Int>({ [unowned(unsafe) animal] in animal.mark + number })
  }
  unkept(Unkept.UnmanagedInStruct.self) { animal in
    unkeeping { $0.unmanaged = UnmanagedBox(animal: .passUnretained(animal)) }
  }
  unkept(Unkept.InSuper.self) { UnkeepingDerived($0) }
  unkept(Unkept.InGeneric.self) { UnkeepingGeneric(1, $0) }
  unkept(Unkept.UnownedInArray.self) { Keeping([UnownedBox(animal: $0), UnownedBox(animal: $0)]) }
  unkept(Unkept.UnmanagedInArray.self) { Keeping([Unmanaged.passUnretained($0)]) }
  unkept(Unkept.UnmanagedInTable.self) { Keeping([1: UnmanagedBox(animal: .passUnretained($0))]) }
  unkept(Unkept.UnownedBehindNumbers.self) { UnkeepingNumbered($0) }
  unkept(Unkept.UnownedInTuples.self) { Keeping([(Side.left, UnownedBox(animal: $0), Int32(1))]) }
  unkept(Unkept.UnownedInGenericArray.self) { Keeping([Both(first: UnownedBox(animal: $0), second: Int16(2))]) }
  unkept(Unkept.UnownedInOptionals.self) { Keeping([Optional(UnownedBox(animal: $0)), nil]) }
  unkept(Unkept.UnmanagedInGenericStruct.self) { animal in
    UnkeepingPair(Both(first: "text", second: Unmanaged.passUnretained(animal)), animal)
  }
}
