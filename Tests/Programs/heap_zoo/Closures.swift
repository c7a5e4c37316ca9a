// By which kinds of functions an object is held.

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
