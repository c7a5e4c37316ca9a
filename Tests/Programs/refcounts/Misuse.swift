// What goes wrong with reference counts: a release that is missing, one too many, an object that escapes from its deinit, an unowned
// reference that outlives it. Each alone: some of these end the program.

import Foundation

final class Wanted { var number = 1 }

final class Session {
  var wanted: Wanted?
  let given: Wanted
  init(given: Wanted) { self.given = given }
}

nonisolated(unsafe) var sessions: [Session] = []
nonisolated(unsafe) var list: [Wanted] = []

@inline(never) func borrow(_ wanted: Wanted) {
  let copy = hide(wanted)
  copy.number += 1
}

@inline(never) func borrowTwice(_ wanted: Wanted) {
  let both = [wanted, wanted]
  _ = hide(both.count)
}

@inline(never) func forget(_ wanted: Wanted) { _ = Unmanaged.passRetained(wanted) }

/// 10,000 balanced uses, and one that is not.
func missing() {
  let wanted = Wanted()
  for number in 0..<10_000 {
    borrow(wanted)
    if number % 100 == 0 { borrowTwice(wanted) }
    if number == 5_000 { forget(wanted) }
  }
}

@inline(never) func store(_ wanted: Wanted) {
  let session = Session(given: wanted)
  session.wanted = wanted
  sessions.append(session)
}

@inline(never) func enlist(_ wanted: Wanted) { list.append(wanted) }

/// Held by two properties and an array.
func held() {
  let wanted = Wanted()
  for _ in 0..<100 { borrow(wanted) }
  store(wanted)
  enlist(wanted)
}

final class Escaping {
  var number = 1
  deinit { escape(self) }
}

@inline(never) func escape(_ escaping: Escaping) { _ = Unmanaged.passRetained(escaping) }
@inline(never) func makeEscaping() -> Escaping { Escaping() }

/// The runtime ends the program when it sees that.
func escapes() {
  let escaping = makeEscaping()
  print(escaping.number)
  fflush(stdout)
}

/// Retains and releases itself in its deinit, as it may.
final class Busy {
  var number = 1
  deinit { for _ in 0..<3 { number += hide(self).number } }
}

func busy() { for _ in 0..<10 { _ = hide(Busy()) } }

final class Kept { var number = 1 }

final class Keeping {
  unowned let kept: Kept
  init(_ kept: Kept) { self.kept = kept }
}

@inline(never) func make() -> (UnsafeMutableRawPointer, Keeping) {
  let kept = Kept()
  return (Unmanaged.passRetained(kept).toOpaque(), Keeping(kept))
}
@inline(never) func drop<T: AnyObject>(_ object: UnsafeMutableRawPointer, _ type: T.Type) {
  Unmanaged<T>.fromOpaque(object).release()
}

/// The unowned reference keeps the memory, so that the second release finds what the deinit has left.
func double() {
  let (kept, keeping) = make()
  drop(kept, Kept.self)
  drop(kept, Kept.self)
  keep(keeping)
  print("released twice")
}

@inline(never) func makeFreed() -> UnsafeMutableRawPointer { Unmanaged.passRetained(Wanted()).toOpaque() }

/// Nothing is allocated in between; what comes of it is the allocator's affair.
func freed() {
  let wanted = makeFreed()
  drop(wanted, Wanted.self)
  drop(wanted, Wanted.self)
}

final class Watching {
  unowned let wanted: Wanted
  init(_ wanted: Wanted) { self.wanted = wanted }
}

@inline(never) func watch() -> Watching { Watching(hide(Wanted())) }

/// The runtime ends the program at the access.
func dangling() {
  let watching = watch()
  print("before")
  fflush(stdout)
  print(watching.wanted.number)
}
