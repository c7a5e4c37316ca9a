// Objects that are lost and objects that are held, each kind known by its type, and what the library says of them: alone and under
// `lifespan record`; while threads allocate, begin, end and fork. Where the heap can't be looked at: HeapRefused.swift. Used by main.swift.
import Glibc
import Lifespan
import Synchronization

private let times = 20
/// How often it is looked while others allocate: as the third argument says.
private let turns = CommandLine.arguments.dropFirst(2).compactMap { Int($0) }.first ?? 10

// MARK: What is planted

private final class RingA: Tracked { var next: RingB? }
private final class RingB: Tracked { var back: RingA? }
private final class SelfCapture { var action: (() -> Void)? }
private final class Lost { var other: Lost? }
private final class InLostArray { weak var itself: InLostArray? }
private final class LostArray { var list: [AnyObject] = [] }
private final class OnlyWeak {}
private final class InGlobal { var mark = 1 }
private final class InProperty { var mark = 1 }
private final class InClosure { var mark = 1 }
private final class InArray { var mark = 1 }
private final class InDictionary { var mark = 1 }
private final class InTask: Sendable {}
private final class OnStack { var mark = 1 }
private final class Keeper {
  var favourite: InProperty?
  weak var weakly: OnlyWeak?
  unowned var unowned: InGlobal
  init(_ global: InGlobal) { unowned = global }
}

nonisolated(unsafe) private var heldGlobal = InGlobal()
nonisolated(unsafe) private var keeper: Keeper?
nonisolated(unsafe) private var closure: (() -> Int)?
nonisolated(unsafe) private var list: [InArray] = []
nonisolated(unsafe) private var table: [String: InDictionary] = [:]
nonisolated(unsafe) private var keepers: [Keeper] = []

/// The optimiser sees that nobody looks at an object that is only retained, and leaves it out.
@inline(never) private func lose() {
  let object = Lost()
  objectsLost ^= UInt(bitPattern: Unmanaged.passRetained(object).toOpaque()) &* 3
}
nonisolated(unsafe) private var objectsLost: UInt = 0

@inline(never) private func plantLeaks() {
  for _ in 0..<times {
    let (a, b) = (RingA(), RingB())
    (a.next, b.back) = (b, a)
    let captures = SelfCapture()
    captures.action = { captures.action = nil }
    lose()
    let holder = LostArray()
    holder.list = [holder, InLostArray()]
    let weak = OnlyWeak()
    let keeper = Keeper(heldGlobal)
    keeper.weakly = weak
    keepers.append(keeper)
    _ = Unmanaged.passRetained(weak)
  }
}

@inline(never) private func plantHeld() {
  heldGlobal = InGlobal()
  keeper = Keeper(heldGlobal)
  keeper?.favourite = InProperty()
  let captured = InClosure()
  closure = { captured.mark }
  for number in 0..<times {
    list.append(InArray())
    table["key \(number)"] = InDictionary()
  }
}

private let leaked: [(name: String, count: Int)] = [
  ("RingA", times), ("RingB", times), ("SelfCapture", times), ("Lost", times), ("LostArray", times),
  ("InLostArray", times), ("OnlyWeak", times),
]
private let held = ["InGlobal", "InProperty", "InClosure", "InArray", "InDictionary", "InTask", "Keeper", "OnStack"]

private func report(_ what: String) -> Allocations.LeakReport? {
  do {
    return try Allocations.leaks()
  } catch {
    equal("\(error)", "an answer", what)
    return nil
  }
}

/// A dead word somewhere may hold one or the other. Where threads stood within malloc, which the report says, less may be found; never too much.
private func checkCounts(_ report: Allocations.LeakReport, _ what: String) {
  equal(report.withheld, nil, "\(what): withheld")
  let isSettled = !report.notes.contains { $0.contains("stood within malloc") }
  for (name, count) in leaked {
    let found = report.count(ofType: "linked." + name)
    let least = isSettled ? count * 3 / 4 : 0
    equal(found <= count && found >= least, true, "\(what): leaked \(name): \(found) of \(count)")
  }
  for name in held { equal(report.count(ofType: "linked." + name), 0, "\(what): \(name) is held") }
}

private func checkLeaks() {
  guard let found = report("leaks") else { return }
  checkCounts(found, "leaks")
  equal(found.isComplete, byCommand, "the picture is complete: \(found.notes)")
  equal(found.notes.isEmpty, byCommand, "notes")
  let ring = found.leaks.first { $0.type == "linked.RingA" || $0.type == "linked.RingB" }
  equal(ring?.kind, .cycle, "ring")
  equal(ring?.instances, found.count(ofType: "linked.RingA"), "rings")
  equal(ring.map { $0.cycle.map(\.description).sorted() }, ["linked.RingA.next", "linked.RingB.back"], "cycle")
  equal(ring?.cycleLength, 2, "length of the cycle")
  equal(ring?.backtrace.isEmpty, false, "no stack of the ring")
  equal(ring?.isToolchains, false, "whose the ring is")
  equal(found.leaks.first { $0.type == "linked.Lost" }?.kind, .root, "lost")
  let captures = found.leaks.first { $0.type == "linked.SelfCapture" }
  let properties = captures?.cycle.compactMap(\.property) ?? []
  equal(properties.contains("action"), true, "the closure's property: \(properties)")
}

// MARK: Holders

private func holders(_ object: AnyObject, _ what: String) -> Allocations.HolderReport? {
  do {
    return try Allocations.holders(of: object)
  } catch {
    equal("\(error)", "an answer", what)
    return nil
  }
}

/// A stripped program's variables have no names.
let isStripped = getenv("LINKED_STRIPPED") != nil
private let variables = ["heldGlobal", "keeper", "list", "table"]

private func check(_ object: AnyObject, _ root: String, _ way: [String], _ what: String) {
  guard let found = holders(object, what) else { return }
  equal(found.reach, .reachable, "\(what): reach")
  let text = found.path?.description ?? "no path"
  equal(found.path?.root?.description.contains(root), true, "\(what): root \(root): \(text)")
  for part in way where !isStripped || !variables.contains(part) {
    equal(text.contains(part), true, "\(what): \(part): \(text)")
  }
}

private func checkHolders() {
  check(heldGlobal, "global", ["heldGlobal", "linked.InGlobal"], "held by a global")
  let found = holders(heldGlobal, "holders of InGlobal")
  let unowned = found?.holders.filter { $0.reference.property == "unowned" } ?? []
  equal(unowned.map(\.holds), [false], "unowned holds nothing")
  equal(unowned.map(\.count), [times + 1], "unowned references")
  if let object = keeper?.favourite {
    check(object, "global", ["keeper", "linked.Keeper.favourite → linked.InProperty"], "held by a property")
    let direct = holders(object, "holders of InProperty")?.holders.filter(\.holds) ?? []
    // A block that was never written may look as if it held the object, too.
    let names = direct.map(\.reference.description)
    equal(names.contains("linked.Keeper.favourite"), true, "holder's property: \(names)")
  }
  if let object = list.last { check(object, "global", ["list", "[\(times - 1)]"], "held by an array") }
  if let object = table["key 3"] { check(object, "global", ["table", "value"], "held by a dictionary") }
}

/// What is held by a local alone is told with that reservation, what nothing holds as leaked, with the cycle.
@inline(never) private func checkLost() {
  let object = OnStack()
  if let found = holders(object, "holders of a local") {
    equal(found.reach, .perhaps, "a local: \(found.path?.description ?? "")")
    equal(found.roots.contains { [.stack, .register].contains($0.kind) && !$0.isFirm }, true, "roots: \(found.roots)")
  }
  equal(object.mark, 1, "mark")
  do {
    _ = try Allocations.holders(of: fromBefore)
    equal(byCommand, true, "an object from before the start")
  } catch {
    equal(error, .unknownObject(type: "linked.Early"), "an object from before the start")
  }
}

private final class Early: Sendable {}
private let fromBefore = Early()

// MARK: While others allocate

private final class Churned: Sendable {
  let next: Churned?
  init(_ next: Churned?) { self.next = next }
}
private let stopping = Atomic<Bool>(false)

private func allocate() {
  var mine: [Churned] = []
  while !stopping.load(ordering: .relaxed) {
    mine.append(Churned(mine.last))
    if mine.count > 100 { mine.removeAll() }
  }
}

func thread(
  _ body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?
) -> pthread_t {
  var thread = pthread_t()
  pthread_create(&thread, nil, body, nil)
  return thread
}

private let childrenLost = Atomic<Int>(0)

private func end(_ child: pid_t) {
  var status: Int32 = -1
  if waitpid(child, &status, 0) != child || status != 0 { childrenLost.add(1, ordering: .relaxed) }
}

/// Threads that begin and end, children that are forked and spawned, memory that comes and goes: all that may be under way when the others stop.
private func hurry() {
  while !stopping.load(ordering: .relaxed) {
    let short = (0..<3).map { _ in
      thread { _ in
        var mine: [Churned] = []
        for _ in 0..<50 { mine.append(Churned(mine.last)) }
        return nil
      }
    }
    let pages = mmap(nil, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    pages?.storeBytes(of: 1, as: Int.self)
    let child = fork()
    if child == 0 { _exit(0) }
    end(child)
    var spawned: pid_t = 0
    let words: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
    if posix_spawn(&spawned, "/bin/true", nil, nil, words, environ) == 0 { end(spawned) }
    words.forEach { free($0) }
    munmap(pages, 1 << 16)
    for thread in short { pthread_join(thread, nil) }
  }
}

private func checkBusy() {
  var threads = (0..<3).map { _ in
    thread { _ in
      allocate()
      return nil
    }
  }
  threads.append(
    thread { _ in
      hurry()
      return nil
    })
  for turn in 0..<(byCommand ? 5 : turns) {
    guard let found = report("turn \(turn)") else { break }
    checkCounts(found, "turn \(turn) of busy threads")
    equal(found.count(ofType: "linked.Churned"), 0, "turn \(turn): what busy threads hold is leaked")
    if turn % 3 == 0 { check(heldGlobal, "global", ["heldGlobal", "linked.InGlobal"], "turn \(turn) of busy threads") }
  }
  stopping.store(true, ordering: .relaxed)
  for thread in threads { pthread_join(thread, nil) }
  equal(childrenLost.load(ordering: .relaxed), 0, "children whose end was not seen, or not theirs")
}

func checkHeap() {
  _ = fromBefore
  equal(byCommand || refusal().contains("nothing is recorded"), true, "not started")
  do {
    try Allocations.start(recording: .swiftObjects)
  } catch {
    equal("\(error)", "started", "start")
  }
  // With a thread of the library's own, which must stand still, too.
  do {
    let gone = InTask()
    Allocations.expectRelease(of: gone, within: .seconds(3600), reason: "let go")
  }
  plantHeld()
  // On a stack of its own: what a function leaves behind on this one lies in the frames of the next and counts as held.
  pthread_join(
    thread { _ in
      plantLeaks()
      return nil
    }, nil)
  checkLeaks()
  checkHolders()
  checkLost()
  checkSurvivors()
  checkBusy()
  if !byCommand { checkRefusals() }
  finish()
}
