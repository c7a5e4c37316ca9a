// By which kinds of properties an object is held.
import Synchronization

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
