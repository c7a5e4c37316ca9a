// By which kinds of functions an object is held, continued.

enum Captured {
  enum Variable {}
  enum Nested {}
  enum Method {}
  enum Generic {}
  enum ValueInStruct {}
  enum Local {}
  enum Async {}
  enum OptionalFunction {}
  enum Returned {}
  enum Existential {}
  enum ManyOfThem {}
}

extension Animal {
  func described(_ number: Int) -> Int { mark + number }
}

@inline(never) func generic<Value>(_ value: Value, _ use: @escaping (Value) -> Int) -> () -> Int { { use(value) } }

@inline(never) func several(_ animal: Animal, _ number: Int) -> () -> () -> Int {
  { { animal.mark + number } }
}

@inline(never) func functions() {
  zoo(Captured.Variable.self) { animal in
    var captured = animal
    let swap: (Animal) -> Int = {
      let before = captured.mark
      captured = $0
      return before
    }
    return Keeping(swap)
  }
  zoo(Captured.Nested.self) { animal in
    let inner: () -> Int = { animal.mark }
    let middle: (Int) -> Int = { $0 + inner() }
    return Keeping<() -> Int>({ middle(anchors.count) })
  }
  zoo(Captured.Method.self) { Keeping<(Int) -> Int>($0.described) }
  zoo(Captured.Generic.self) { Keeping(generic((Int8(1), $0)) { $0.1.mark }) }
  zoo(Captured.ValueInStruct.self) { animal in
    let outer = Outer(inner: Inner(animal: animal))
    return Keeping<() -> Int>({ outer.inner.animal.mark })
  }
  zoo(Captured.Local.self) { animal in
    func down(_ number: Int) -> Int { number <= 0 ? animal.mark : down(number - 1) }
    return Keeping<(Int) -> Int>(down)
  }
  zoo(Captured.Async.self) { animal in Keeping<() async -> Int>({ animal.mark }) }
  zoo(Captured.OptionalFunction.self) { animal in Keeping<(() throws -> Int)?>({ animal.mark }) }
  zoo(Captured.Returned.self) { Keeping(several($0, anchors.count)()) }
  zoo(Captured.Existential.self) { animal in
    let thing: any Thing = Large(animal: animal)
    return Keeping<() -> Any>({ thing })
  }
  zoo(Captured.ManyOfThem.self) { animal in
    let (a, b, c, text) = (Int8(1), true, Int16(anchors.count), "number \(anchors.count)")
    return Keeping<() -> Int>({ Int(a) + (b ? Int(c) : 0) + text.utf8.count + animal.mark })
  }
}
