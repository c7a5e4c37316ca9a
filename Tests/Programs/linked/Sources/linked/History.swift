// One object's history and its counts. Called by main.swift.
import Lifespan

@inline(never) func makeSession() -> Session { Session(number: 4_711) }

// Apart, so that the optimiser can't pair them off against each other.
@inline(never) func retain(_ object: Unmanaged<Session>) { _ = object.retain() }
@inline(never) func release(_ object: Unmanaged<Session>) { object.release() }

func checkHistory() {
  let session = makeSession()
  let unmanaged = Unmanaged.passUnretained(session)
  for _ in 0..<3 { retain(unmanaged) }
  for _ in 0..<3 { release(unmanaged) }
  let history = Allocations.history(of: session)
  equal(history.type, "linked.Session", "history: type")
  equal(history.dropped, 0, "history: dropped")
  equal(history.missing, nil, "history: missing")
  equal(history.events.first?.kind, .birth, "history: first event")
  equal((history.events.first?.backtrace.count ?? 0) > 2, true, "history: backtrace of the birth")
  var count: Int?
  var retains = 0
  var releases = 0
  for event in history.events {
    if let count { equal(event.countBefore, count, "history: the count goes on") }
    count = event.countAfter
    if case .retain(let times) = event.kind { retains += times }
    if case .release(let times) = event.kind { releases += times }
  }
  equal(retains >= 3, true, "history: retains")
  equal(releases >= 3, true, "history: releases")
  equal(count.map { $0 >= 1 }, true, "history: the count is known and the object lives")
  checkCounts(history, "retained and released")
  checkManyEvents(session)
  checkReads(session)
  kept.append(session)
}

/// The recorded count is the runtime's, and the events lead to it without a gap. Where a hook could not be installed (while
/// threads ran) it says that it does not know.
func checkCounts(_ history: Allocations.History, _ what: String) {
  guard let count = history.retainCount else {
    equal(Allocations.capture == .complete, false, "\(what): its count is not known")
    return
  }
  equal(count, history.runtimeRetainCount, "\(what): the recorded count beside the runtime's")
  for (event, next) in zip(history.events, history.events.dropFirst()) where event.countAfter != next.countBefore {
    equal(next.countBefore, event.countAfter, "\(what): the count goes on at \(next.kind)")
  }
  if let last = history.events.last { equal(last.countAfter, count, "\(what): the last event's count") }
}

/// More events than the ring holds: the newest stay, and how many are gone is said.
func checkManyEvents(_ session: Session) {
  let unmanaged = Unmanaged.passUnretained(session)
  let before = Allocations.history(of: session)
  let pairs = 50_000
  for _ in 0..<pairs {
    retain(unmanaged)
    release(unmanaged)
  }
  let after = Allocations.history(of: session)
  equal(after.dropped > 0, true, "a full ring: some are gone")
  // The ring is everybody's: busy threads push out this object's events as well, as many as they come to.
  if !busy { equal(after.events.count > pairs / 2, true, "a full ring: \(after.events.count) events are kept") }
  // The calls themselves may retain it, balanced.
  let more = after.dropped + after.events.count - before.dropped - before.events.count - 2 * pairs
  equal((0...16).contains(more), true, "a full ring: \(more) events more than there were")
  checkCounts(after, "a full ring")
}

@inline(never) func read(_ reader: () -> Session?) -> Session? { reader() }

/// Reads of weak and unowned references do not see the count before; what was recorded does.
func checkReads(_ session: Session) {
  weak var weakly: Session?
  weakly = session
  unowned let unownedly = session
  let one = read { weakly }
  let two = read { unownedly }
  let history = Allocations.history(of: session)
  checkCounts(history, "read by weak and unowned references")
  let flavours = Set(history.events.compactMap(\.flavour))
  if history.retainCount != nil { equal(flavours.contains(.weakLoad), true, "a weak reference was read") }
  equal(one === two, true, "both are the same object")
}
