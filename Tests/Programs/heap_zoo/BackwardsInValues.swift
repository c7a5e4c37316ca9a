// References that do not keep, inside of other values, in objects that a global holds; what they refer to only holds itself.

enum Unkept {
  enum WeakInStruct {}
  enum WeakInArray {}
  enum WeakInTable {}
  enum WeakCapture {}
  enum WeakExistential {}
  enum OptionalUnowned {}
  enum OptionalUnsafe {}
  enum UnownedCapture {}
  enum UnsafeCapture {}
  enum InSuper {}
  enum InGeneric {}
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
  unkept(Unkept.InSuper.self) { UnkeepingDerived($0) }
  unkept(Unkept.InGeneric.self) { UnkeepingGeneric(1, $0) }
}
