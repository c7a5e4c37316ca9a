// What an object's history tells: counts, its deinit, and which retains have no release.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct HistoryTests {
  @Test func countsAreThoseOfTheEventsThemselves() throws {
    var builder = TraceBuilder()
    builder.info.append(InfoRecord(key: "refcounts", value: "all"))
    let object = builder.birth(builder.type("App.Node"))
    // Two threads at once: each saw the count as if the other had not been.
    builder.retain(object, before: 1)
    builder.retain(object, before: 1)
    builder.release(object, by: 2, before: 3)
    let history = try builder.analysis().history(of: .serial(object))
    #expect(history.events.map(\.countAfter) == [1, 2, 3, 1])
  }

  @Test func withoutEveryEventCountsAreThoseThatTheRuntimeHad() throws {
    var builder = TraceBuilder()
    builder.info.append(InfoRecord(key: "refcounts", value: "tracked"))
    let object = builder.birth(builder.type("App.Node"))
    builder.retain(object, before: 4)
    builder.release(object)
    #expect(try builder.analysis().history(of: .serial(object)).events.map(\.countAfter) == [1, 5, nil])
  }

  @Test func aDeinitBeginsWithTheLastReleaseThatDidNotComeOutOfIt() throws {
    var builder = TraceBuilder()
    builder.info.append(InfoRecord(key: "refcounts", value: "all"))
    let object = builder.birth(builder.type("App.Node"))
    let stack = builder.stack(0x1010)
    builder.release(object, before: 1, stack: stack)
    builder.retain(object, flavour: 0x80, before: 0)
    builder.release(object, flavour: 0x80, before: 1)
    builder.death(object)
    let events = try builder.analysis().history(of: .serial(object)).events
    #expect(events.map(\.kind) == [.birth, .release, .deinitBegins, .retain, .release, .death])
    #expect(events.map(\.number) == [1, 2, 2, 3, 4, 5])
    #expect(events.map(\.isInDeinit) == [false, false, false, true, true, false])
    #expect(events.map(\.countAfter) == [1, 0, 0, 1, 0, 0])
    #expect(events[2].stack == stack && events[2].change == 0)
  }
}

@Suite struct ReferencePairingTests {
  private func history(_ changes: [(change: Int, stack: UInt32)]) -> History {
    let events = changes.enumerated().map { index, one in
      History.Event(
        number: index + 1, kind: index == 0 ? .birth : one.change > 0 ? .retain : .release, change: one.change,
        countAfter: nil, time: TraceTime(Int64(index)), thread: .main, stack: StackID(one.stack))
    }
    let type = TypeIdentity(id: TypeID(1), name: "App.Node", rawName: "App.Node", kind: .classInstance, module: "App")
    let object = ObjectRecord(
      serial: SerialNumber(1), address: nil, type: type, size: ByteCount(32), born: TraceTime(0), age: 0,
      thread: .main, stack: StackID(0), generation: Generation(0), state: .living)
    return History(object: object, events: events)
  }

  private func left(_ changes: [(change: Int, stack: UInt32)], _ stacks: [UInt32: [String]]) -> ReferencePairing {
    history(changes).pairing { stacks[$0.rawValue] ?? [] }
  }

  @Test func oneOfTenThousandIsFound() {
    var changes: [(change: Int, stack: UInt32)] = [(1, 1)]
    for number in 0..<10_000 {
      changes += [(1, 2), (-1, 2)]
      if number == 5_000 { changes.append((1, 3)) }
    }
    changes.append((-1, 4))
    let stacks: [UInt32: [String]] = [
      1: ["Node.__allocating_init()", "run()", "main"], 2: ["borrow(_:)", "run()", "main"],
      3: ["forget(_:)", "run()", "main"],
      4: ["run()", "main"],
    ]
    let pairing = left(changes, stacks)
    #expect(pairing.retains.map(\.event.number) == [10_004])
    #expect(pairing.retains.first?.holder == .function("forget(_:)"))
    #expect(pairing.paired == 10_001 && pairing.pairedByOrder == 0 && pairing.releases.isEmpty)
  }

  @Test func holdersAreNamedByWhatTheirStacksTell() {
    let stacks: [UInt32: [String]] = [
      2: ["Session.user.setter", "login()"], 3: ["Session.init(user:)", "Session.__allocating_init(user:)", "login()"],
      4: ["specialized Array.append(_:)", "enlist(_:)"],
      5: ["outlined copy of Node?", "closure #1 in Session.start()"], 6: [],
    ]
    let pairing = left([(1, 6), (1, 2), (1, 3), (1, 4), (2, 5)], stacks)
    #expect(
      pairing.retains.map(\.holder) == [
        nil, .property("Session.user"), .member(of: "Session"), .container("Array", in: "enlist(_:)"),
        .function("closure #1 in Session.start()"),
      ])
    #expect(pairing.retains.map(\.count) == [1, 1, 1, 1, 2])
  }

  @Test func whatATypeTookItGivesBackInItsDeinitAndAContainerInItsOwn() {
    let stacks: [UInt32: [String]] = [
      2: ["Session.user.setter", "login()"], 3: ["Session.__deallocating_deinit", "logout()"],
      4: ["Array.append(_:)", "enlist(_:)"],
      5: ["_ContiguousArrayStorage.__deallocating_deinit", "bool swift::RefCounts<…>::doDecrementSlow", "clear()"],
      6: ["make()", "main"], 7: ["main"],
    ]
    let pairing = left([(1, 6), (1, 2), (1, 4), (-1, 5), (-1, 3), (-1, 7)], stacks)
    #expect(pairing.retains.isEmpty && pairing.releases.isEmpty && pairing.pairedByOrder == 0)
    #expect(pairing.paired == 3)
  }

  @Test func ofARetainAndTheBirthInOneFunctionItsLastReleaseIsTheBirths() {
    // Optimised: forget() is a jump to swift_retain and has no frame, the release that run() ends with neither.
    let stacks: [UInt32: [String]] = [
      1: ["run()", "main"], 2: ["borrow(_:)", "run()", "main"], 3: ["run()", "main"], 4: ["main"],
    ]
    let pairing = left([(1, 1), (1, 2), (-1, 2), (1, 3), (1, 2), (-1, 2), (-1, 4)], stacks)
    #expect(pairing.retains.map(\.event.number) == [4])
    #expect(pairing.paired == 3 && pairing.pairedByOrder == 0 && pairing.releases.isEmpty)
    // With a frame of its own the retain is the nearer one's.
    let own = left([(1, 1), (1, 3), (-1, 3), (-1, 4)], stacks)
    #expect(own.retains.isEmpty && own.pairedByOrder == 0)
  }

  @Test func aReleaseInATailCallBelongsToTheNearestCall() {
    let stacks: [UInt32: [String]] = [1: ["run()", "main"], 2: ["forget(_:)", "run()", "main"], 3: ["main"]]
    #expect(left([(1, 1), (1, 2), (-1, 3)], stacks).retains.map(\.event.number) == [2])
  }

  @Test func whatNothingElsePairsIsPairedByOrderAndSaid() {
    let stacks: [UInt32: [String]] = [2: ["one()"], 3: ["two()"]]
    let pairing = left([(1, 2), (-1, 3)], stacks)
    #expect(pairing.paired == 1 && pairing.pairedByOrder == 1)
    let missing = left([(1, 2), (-2, 2), (1, 3)], stacks)
    #expect(missing.releases.map(\.count) == [1])
    #expect(missing.retains.map(\.event.number) == [3])
  }
}
