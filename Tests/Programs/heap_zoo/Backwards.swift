// References that do not keep, and what nothing keeps any more.

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
    ("Program.LeakedWeak", times), ("Program.LeakedUnowned", times), ("Program.LeakedUnsafe", times),
    ("Program.LeakedUnmanaged", times),
    ("Program.LeakedUnownedInStruct", times), ("Program.LeakedUnownedInClosure", times),
    ("Program.LeakedUnownedExistential", times),
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
  leftInStorage()
  // Its deinit has run, and its memory is kept: nothing is leaked.
  for _ in 0..<times { anchors.append(zombieHolder()) }
  expected.append(("Program.HeldZombie", 0))
  for _ in 0..<times { lose(LeakedByRetain()) }
  expected += [
    ("Program.LeakedFromRemoved", 9 * times), ("Program.LeakedFromPopped", 9 * times),
    ("Program.LeakedByRetain", times),
  ]
}
var keptTable: [Int: LeakedFromRemoved] = [:]
var keptList: [LeakedFromPopped] = []
