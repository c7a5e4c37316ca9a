// By which kinds of values a property holds an object.
import Synchronization

enum Kind {
  enum OptionalExistential {}
  enum TwiceOptional {}
  enum OneOfFour {}
  enum LargeExistential {}
  enum BoxedAny {}
  enum BoxedError {}
  enum InResult {}
  enum NestedStruct {}
  enum GenericStruct {}
  enum Variadic {}
  enum InlineElements {}
  enum GenericSuper {}
  enum LazyReference {}
  enum UniqueWithDeinit {}
  enum OptionalUnique {}
  enum UniqueCase {}
  enum LockedTable {}
  enum RawMemory {}
  enum RawPointer {}
  enum ByKeyPath {}
  enum Retained {}
  enum RetainedOptional {}
  enum RetainedElement {}
  enum RetainedWithWeak {}
  enum Metatype {}
}

final class Keeping<Value> {
  let before: Int8 = 1
  var value: Value
  init(_ value: Value) { self.value = value }
}

final class Other {
  let animal: Animal
  init(_ animal: Animal) { self.animal = animal }
}
struct Large: Thing {
  let numbers = (1, 2, 3)
  let animal: Animal
}
struct Mishap: Error {
  let code = 3
  let animal: Animal
}
enum OneOfFour {
  case animal(Animal)
  case other(Other)
  case wide(Int, Animal)
  case text(String)
  case nothing
}
struct Inner {
  let number = 2
  let animal: Animal
}
struct Outer {
  let number = 1
  let inner: Inner
  let name = "a name that does not fit into sixteen bytes"
}
struct Pair<First, Second> {
  let first: First
  let second: Second
}
final class Variadic<each Value> {
  let values: (repeat each Value)
  init(_ value: repeat each Value) { values = (repeat each value) }
}
class GenericBase<Value> {
  let value: Value
  init(_ value: Value) { self.value = value }
}
final class GenericDerived: GenericBase<(Int8, Animal)> {
  let more = 3
}
final class Lazily {
  let reference = AtomicLazyReference<Animal>()
  init(_ animal: Animal) { _ = reference.storeIfNil(animal) }
}
struct UniqueWithDeinit: ~Copyable {
  let number = 1
  let animal: Animal
  deinit { sum &+= UInt(animal.mark) }
}
enum UniqueCase: ~Copyable {
  case nothing
  case one(UniqueWithDeinit)
}
final class Uniques {
  let always: UniqueWithDeinit
  let perhaps: UniqueWithDeinit?
  let oneCase: UniqueCase
  init(_ always: Animal, _ perhaps: Animal, _ oneCase: Animal) {
    self.always = UniqueWithDeinit(animal: always)
    self.perhaps = UniqueWithDeinit(animal: perhaps)
    self.oneCase = .one(UniqueWithDeinit(animal: oneCase))
  }
}
final class LockedTable: @unchecked Sendable {
  let table: Mutex<[Int: Animal]>
  init(_ animal: Animal) { table = Mutex([1: Animal(), 2: animal]) }
}

/// What a key path looks up with.
struct Key: Hashable {
  let animal: Animal
  static func == (a: Key, b: Key) -> Bool { a.animal === b.animal }
  func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(animal)) }
}
struct Table {
  subscript(key: Key) -> Int { key.animal.mark }
}

@inline(never) func values() {
  zoo(Kind.OptionalExistential.self) { Keeping<(any Thing)?>(Large(animal: $0)) }
  zoo(Kind.TwiceOptional.self) { Keeping<Animal??>(.some(.some($0))) }
  zoo(Kind.OneOfFour.self) {
    let all: [OneOfFour] = [.animal($0), .other(Other($0)), .wide(2, $0), .nothing, .text("text")]
    return Keeping((all[0], all[1], all[2], all[anchors.count % 2 + 3]))
  }
  zoo(Kind.LargeExistential.self) { Keeping<any Thing>(Large(animal: $0)) }
  zoo(Kind.BoxedAny.self) { Keeping<Any>((1, 2, 3, Optional($0))) }
  zoo(Kind.BoxedError.self) { Keeping<any Error>(Mishap(animal: $0)) }
  zoo(Kind.InResult.self) {
    Keeping<(Result<Animal, any Error>, Result<Int, any Error>)>((.success($0), .failure(Mishap(animal: $0))))
  }
  zoo(Kind.NestedStruct.self) { Keeping(Outer(inner: Inner(animal: $0))) }
  zoo(Kind.GenericStruct.self) { Keeping(Pair(first: Int8(1), second: Pair(first: $0, second: true))) }
  zoo(Kind.Variadic.self) { Variadic(Int8(1), "text", $0) }
  zoo(Kind.InlineElements.self) {
    let all: InlineArray<3, Animal> = [Animal(), $0, Animal()]
    return Keeping(all)
  }
  zoo(Kind.GenericSuper.self) { GenericDerived((1, $0)) }
  zoo(Kind.Metatype.self) { Keeping<(Any.Type, Animal)>((Int.self, $0)) }
}

@inline(never) func memory() {
  zoo(Kind.LazyReference.self) { Lazily($0) }
  zoo(Kind.UniqueWithDeinit.self) { Uniques($0, Animal(), Animal()) }
  zoo(Kind.OptionalUnique.self) { Uniques(Animal(), $0, Animal()) }
  zoo(Kind.UniqueCase.self) { Uniques(Animal(), Animal(), $0) }
  zoo(Kind.LockedTable.self) { LockedTable($0) }
  zoo(Kind.RawMemory.self) {
    let memory = UnsafeMutablePointer<Animal>.allocate(capacity: 3)
    memory.initialize(repeating: $0, count: 3)
    return Keeping(memory)
  }
  // What C would be given as its context.
  zoo(Kind.RawPointer.self) { Keeping(UnsafeRawPointer(Unmanaged.passRetained($0).toOpaque())) }
  zoo(Kind.Retained.self) { Keeping(Unmanaged.passRetained($0)) }
  zoo(Kind.RetainedOptional.self) { Keeping(Optional(Unmanaged.passRetained($0))) }
  zoo(Kind.RetainedElement.self) { Keeping([(1, Unmanaged.passRetained($0))]) }
  zoo(Kind.RetainedWithWeak.self) {
    let keeping = Keeping([1: Optional(Unmanaged.passRetained($0))])
    weak let again = $0
    if again == nil { fatalError("gone") }
    return keeping
  }
  zoo(Kind.ByKeyPath.self) { Keeping<AnyKeyPath>(\Table.[Key(animal: $0)]) }
}
