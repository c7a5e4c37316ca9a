// The file that takes a running trace's place: whatever was discarded, a reader counts what the tables say, what lives has
// its whole birth, and the trace is whole at every moment.
import CDrain
import CDrainTestSupport
import CTraceFormat
import LifespanTrace
import XCTest

final class NextTests: XCTestCase {
  private func check(_ trace: Trace, against recording: Recording, _ place: String) throws {
    for least in UInt32(0)...4 {
      let expected = recording.rows(since: least).mapValues { Tally($0) }
      XCTAssertEqual(try trace.tallies(since: least), expected, "\(place), since \(least)")
    }
  }

  /// What is in the file by now, as a reader of a running recording gets it.
  private func flushed(_ recording: Recording) throws -> Trace {
    XCTAssertEqual(lifespan_drain_flush(recording.drain), 0)
    return try Trace(TraceMemory(recording.sunk.bytes))
  }

  func testATraceOfWhatLivesCountsLikeTheTablesAtEveryMoment() throws {
    // With a budget of some objects a round the picture is taken while everything goes on.
    for (seed, history, budget) in [(UInt64(1), UInt32(0), UInt64(0)), (2, 1, 0), (3, 60, 60_000), (4, 5000, 400_000)] {
      let bounded = try BoundedRecording(keeps: true, history: history, budget: budget)
      let recording = bounded.recording!
      var program = Program(seed: seed, most: 40)
      program.begin(recording)
      var most = 0
      for step in 0..<12_000 {
        program.step(recording)
        most = max(most, recording.sunk.bytes.count)
        if step % 997 == 0 {
          recording.round()
          let trace = try flushed(recording)
          XCTAssertEqual(trace.ending.reason, .unfinished)
          var open = trace
          try check(&open, recording, "history \(history), step \(step)")
        }
      }
      XCTAssertGreaterThan(bounded.renewals, budget == 0 ? 5 : 1, "history \(history)")
      if budget == 0 { XCTAssertLessThan(most, 40_000, "history \(history)") }
      let trace = try recording.finished()
      try check(trace, against: recording, "history \(history), the end")
      // At the end nothing is left of what died.
      XCTAssertFalse(try trace.allEvents().contains { $0.kind == .death })
      XCTAssertEqual(trace.info["discarded.by"], "keep living")
      let discarded = UInt64(trace.info["discarded.events"] ?? "") ?? 0
      XCTAssertEqual(discarded + UInt64(try trace.allEvents().count), recording.counts.events)
    }
  }

  /// `tallies` of a trace that has no end yet.
  private func check(_ trace: inout Trace, _ recording: Recording, _ place: String) throws {
    let expected = recording.rows().mapValues { Tally($0) }
    XCTAssertEqual(try trace.tallies(ending: .unfinished), expected, place)
  }

  func testWhatLivesKeepsSerialsAddressesTimesStacksTasksAndMarks() throws {
    for (keeps, limit, budget) in [(true, UInt64(0), UInt64(60_000)), (false, 60_000, 0), (true, 60_000, 5000)] {
      let whole = try Recording(rings: 2, log2: 14)
      let bounded = try BoundedRecording(keeps: keeps, limit: limit, budget: budget)
      for recording in [whole, bounded.recording!] {
        var program = Program(seed: 9, most: 60)
        program.begin(recording)
        for _ in 0..<20_000 { program.step(recording) }
        recording.round()
      }
      XCTAssertGreaterThan(bounded.renewals, 1)
      let (full, kept) = (try whole.finished(), try bounded.recording.finished())
      XCTAssertEqual(kept.marks.map(\.name), full.marks.map(\.name))
      XCTAssertEqual(kept.marks.map(\.time), full.marks.map(\.time))
      let (all, some) = (try full.allEvents(), try kept.allEvents())
      for mark in kept.marks {
        let before = some.prefix(Int(mark.firstEvent)).filter { $0.kind == .birth }
        let after = some.dropFirst(Int(mark.firstEvent)).filter { $0.kind == .birth }
        XCTAssertTrue(before.allSatisfy { ($0.generation ?? Generation(99)) <= mark.closes }, mark.name)
        XCTAssertTrue(after.allSatisfy { ($0.generation ?? Generation(0)) > mark.closes }, mark.name)
      }
      let ends: Set<EventKind> = [.death, .free, .plainFree, .endNotSeen]
      let dead = Set(all.filter { ends.contains($0.kind) }.compactMap(\.serial))
      let births = all.filter { $0.kind == .birth && !dead.contains($0.serial ?? SerialNumber(0)) }
      let keptBirths = some.filter { $0.kind == .birth && !dead.contains($0.serial ?? SerialNumber(0)) }
      XCTAssertEqual(births.map(\.serial), keptBirths.map(\.serial))
      XCTAssertEqual(births.map(\.time), keptBirths.map(\.time))
      XCTAssertEqual(births.map(\.generation), keptBirths.map(\.generation))
      XCTAssertEqual(births.map(\.thread), keptBirths.map(\.thread))
      XCTAssertEqual(births.map(\.task), keptBirths.map(\.task))
      func site(_ trace: Trace, _ event: TraceEvent) -> SiteRecord? { event.site.map { trace.sites[Int($0.rawValue)] } }
      // What was moved is born as it was when its history was discarded.
      let moved = Set(all.filter { $0.kind == .moved }.compactMap(\.serial))
      let still = (births + keptBirths).filter { !moved.contains($0.serial ?? SerialNumber(0)) }
      XCTAssertGreaterThan(still.count, 10)
      XCTAssertEqual(
        still.prefix(still.count / 2).map { site(full, $0) }, still.suffix(still.count / 2).map { site(kept, $0) })
      for event in keptBirths {
        guard let stack = site(kept, event)?.stack else { continue }
        XCTAssertEqual(kept.stacks.stack(stack), full.stacks.stack(stack))
      }
      XCTAssertEqual(places(all, dead), places(some, dead))
      // Types are told with their superclasses, and nothing twice.
      XCTAssertEqual(Set(kept.types.map(\.id)).count, kept.types.count)
      for type in kept.types where type.superclass.rawValue != 0 {
        XCTAssertTrue(kept.types.contains { $0.id == type.superclass })
      }
    }
  }

  /// Where the objects that live are at the end.
  private func places(_ events: [TraceEvent], _ dead: Set<SerialNumber>) -> [SerialNumber: ObjectAddress] {
    var places: [SerialNumber: ObjectAddress] = [:]
    for event in events {
      guard let serial = event.serial, !dead.contains(serial) else { continue }
      places[serial] = event.address
    }
    return places
  }

  func testALimitIsNeverPassedAndKeepsTheNewestEvents() throws {
    let limit: UInt64 = 60_000
    let whole = try Recording(rings: 2, log2: 14)
    let bounded = try BoundedRecording(limit: limit)
    for recording in [whole, bounded.recording!] {
      var program = Program(seed: 5, most: 50)
      program.begin(recording)
      for _ in 0..<20_000 {
        program.step(recording)
        XCTAssertLessThanOrEqual(bounded.recording.sunk.bytes.count, Int(limit))
        XCTAssertLessThanOrEqual(bounded.next.bytes.count, Int(limit))
      }
      recording.round()
    }
    XCTAssertGreaterThan(bounded.renewals, 3)
    let kept = try bounded.recording.finished()
    XCTAssertLessThanOrEqual(bounded.recording.sunk.bytes.count, Int(limit))
    try check(kept, against: bounded.recording, "the end")
    let all = try whole.finished().allEvents()
    let some = try kept.allEvents()
    let before = Int64(kept.info["discarded.before"] ?? "") ?? 0
    XCTAssertEqual(kept.info["discarded.by"], "max size")
    // From then on every event is there.
    let newest = all.filter { $0.time.rawValue > before }
    XCTAssertEqual(words(newest), words(Array(some.suffix(newest.count))))
    XCTAssertGreaterThan(newest.count, 2000)
    XCTAssertGreaterThan(bounded.recording.sunk.bytes.count, Int(limit) / 4)
  }

  func testEachFileThatTakesThePlaceHasHalfOfWhatFitsIntoALimit() throws {
    // Also where the limit is below what a trace without one grows by before it is made anew.
    for least: UInt64 in [3000, 0] {
      let limit: UInt64 = 60_000
      let bounded = try BoundedRecording(least: least, limit: limit)
      let recording = bounded.recording!
      var program = Program(seed: 11, most: 50)
      program.begin(recording)
      for _ in 0..<30_000 {
        program.step(recording)
      }
      recording.round()
      XCTAssertGreaterThan(bounded.renewals, 4, "least \(least)")
      XCTAssertGreaterThan(bounded.leastRenewed, Int(limit) / 4, "least \(least)")
      try check(recording.finished(), against: recording, "least \(least)")
    }
  }

  func testWhatDoesNotFitIsLostAndStated() throws {
    let limit: UInt64 = 40_000
    let bounded = try BoundedRecording(limit: limit)
    let recording = bounded.recording!
    var program = Program(seed: 7, most: 1)
    program.begin(recording)
    var stamp: Int64 = 1000
    for number in UInt64(1)...12_000 {
      stamp += 2000
      recording.birth(stamp, number * 0x100, type: 1 + UInt32(number % 6), stack: 2, size: 8 + number % 64 * 8)
      if number % 100 == 0 { recording.round() }
      XCTAssertLessThanOrEqual(recording.sunk.bytes.count, Int(limit))
    }
    let lost = recording.counts.lost
    XCTAssertGreaterThan(lost, 1000)
    XCTAssertEqual(recording.counts.births + lost, 12_000)
    // Room is made when most have died: then births are recorded again.
    for number in UInt64(1)...12_000 {
      stamp += 2000
      recording.death(stamp, number * 0x100)
      if number % 100 == 0 { recording.round() }
      XCTAssertLessThanOrEqual(recording.sunk.bytes.count, Int(limit))
    }
    for number in UInt64(1)...200 {
      stamp += 2000
      recording.birth(stamp, number * 0x100, type: 2, size: 16)
    }
    recording.round()
    XCTAssertEqual(recording.counts.lost, lost)
    let trace = try recording.finished()
    try check(trace, against: recording, "the end")
    XCTAssertLessThanOrEqual(recording.sunk.bytes.count, Int(limit))
    XCTAssertEqual(trace.gaps.reduce(0) { $0 + $1.births }, lost)
    XCTAssertTrue(trace.gaps.allSatisfy { $0.reason == 6 && $0.deaths == 0 })
    XCTAssertEqual(Tally(recording.rows()[2]).living, 200)
  }

  func testDeathsForWhichThereIsNoRoomAreStatedToo() throws {
    // Nothing can take the trace's place, and it has no room: the end still fits in, and says how many events do not.
    let bounded = try BoundedRecording(limit: 40_000)
    let recording = bounded.recording!
    bounded.beginError = EACCES
    recording.type(1, "App.Node")
    var stamp: Int64 = 1000
    for number in UInt64(1)...6_000 {
      stamp += 2000
      recording.birth(stamp, number * 0x100)
      stamp += 2000
      if number % 2 == 0 { recording.death(stamp, number * 0x100) }
      if number % 50 == 0 { recording.round() }
    }
    for number in UInt64(1)...6_000 where number % 2 == 1 {
      stamp += 2000
      recording.death(stamp, number * 0x100)
      if number % 50 == 1 { recording.round() }
    }
    recording.round()
    let trace = try recording.finished()
    XCTAssertLessThanOrEqual(recording.sunk.bytes.count, 40_000)
    var error: Int32 = 0
    XCTAssertEqual(lifespan_drain_renewed(recording.drain, &error), 0)
    XCTAssertEqual(error, EACCES)
    let births = trace.gaps.reduce(0) { $0 + $1.births }
    let deaths = trace.gaps.reduce(0) { $0 + $1.deaths }
    XCTAssertEqual(recording.counts.births + births, 6_000)
    let tally = try XCTUnwrap(trace.tallies()[1])
    XCTAssertEqual(tally.living, Int64(deaths))
    XCTAssertEqual(recording.counts.lost, births + deaths)
  }

  func testAFailureLeavesTheTraceAsItIsAndIsTriedAgain() throws {
    for failure in 0..<3 {
      let bounded = try BoundedRecording(keeps: true)
      let recording = bounded.recording!
      if failure == 0 { bounded.beginError = ENOSPC }
      if failure == 1 { bounded.commitError = EXDEV }
      if failure == 2 { bounded.next.error = ENOSPC }
      var program = Program(seed: 3, most: 40)
      program.begin(recording)
      for _ in 0..<3000 { program.step(recording) }
      recording.round()
      XCTAssertEqual(bounded.renewals, 0)
      if failure > 0 { XCTAssertGreaterThan(bounded.abandoned, 0) }
      var error: Int32 = 0
      XCTAssertEqual(lifespan_drain_renewed(recording.drain, &error), 0)
      XCTAssertEqual(error, failure == 1 ? EXDEV : ENOSPC)
      var open = try flushed(recording)
      try check(&open, recording, "failure \(failure)")
      (bounded.beginError, bounded.commitError, bounded.next.error) = (0, 0, 0)
      for _ in 0..<9000 { program.step(recording) }
      recording.round()
      XCTAssertGreaterThan(bounded.renewals, 0)
      XCTAssertEqual(lifespan_drain_renewed(recording.drain, &error), UInt64(bounded.renewals))
      XCTAssertEqual(error, 0)
      try check(try recording.finished(), against: recording, "failure \(failure), the end")
    }
  }

  func testARetainAfterADeathThatWasDiscardedIsNotInTheTrace() throws {
    let bounded = try BoundedRecording(keeps: true, least: 1, history: 0)
    let recording = bounded.recording!
    recording.type(1, "App.Node")
    recording.birth(1000, 0x100)
    recording.birth(2000, 0x200)
    recording.death(3000, 0x100)
    for number in 0..<70_000 {
      recording.retain(4000 + Int64(number), 0x200); if number % 2000 == 0 { recording.round() }
    }
    for _ in 0..<50 { recording.round() }
    XCTAssertGreaterThan(bounded.renewals, 0)
    // Its death was a microsecond ago by the stamps: late, but of its lifetime.
    recording.release(3000, 0x100)
    for _ in 0..<3 { recording.round() }
    let trace = try recording.finished()
    XCTAssertTrue(try trace.allEvents().allSatisfy { $0.serial == SerialNumber(2) })
  }

  func testTablesLoseWhatNothingLivingNeeds() throws {
    let bounded = try BoundedRecording(keeps: true, least: 20_000, history: 0)
    let recording = bounded.recording!
    recording.type(1, "App.Node")
    XCTAssertTrue(fake_task(recording.fake, 0, 500, 7, 6))
    recording.birth(1000, 0x10, size: 24)
    var stamp: Int64 = 2000
    // Every object has a site and a task of its own.
    for number in UInt64(1)...150_000 {
      stamp += 2000
      XCTAssertTrue(fake_task(recording.fake, 0, stamp, 1000 + number, 999 + number))
      recording.birth(stamp + 1, 0x100, size: 100 + number)
      recording.death(stamp + 2, 0x100)
      if number % 1000 == 0 { recording.round() }
    }
    XCTAssertTrue(fake_task(recording.fake, 0, stamp + 10, 7, 6))
    recording.birth(stamp + 11, 0x20, size: 24)
    recording.round()
    let trace = try recording.finished()
    try check(trace, against: recording, "the end")
    XCTAssertEqual(trace.sites.count, 1)
    XCTAssertLessThan(trace.tasks.count, 5000)
    XCTAssertTrue(trace.tasks.contains { $0.id == TaskID(7) && $0.parent == TaskID(6) })
    XCTAssertEqual(try trace.allEvents().map(\.task), [TaskID(7), TaskID(7)])
    XCTAssertLessThan(recording.sunk.bytes.count, 40_000)
  }

  func testManyHolesBecomeOne() throws {
    let bounded = try BoundedRecording(keeps: true, least: 20_000, history: 0)
    let recording = bounded.recording!
    recording.type(1, "App.Node")
    var stamp: Int64 = 2000
    var lost: UInt64 = 0
    for number in UInt64(1)...3000 {
      for _ in 0..<30 {
        stamp += 2000
        recording.birth(stamp, 0x100, size: 32)
        recording.death(stamp + 2, 0x100)
      }
      lost += number % 3
      fake_lose(recording.fake, UInt32(number % 2), number % 3, 0, 0, stamp, stamp + 5)
      recording.round()
      if number % 2 == 0 { XCTAssertEqual(lifespan_drain_flush(recording.drain), 0) }
    }
    let trace = try recording.finished()
    XCTAssertGreaterThan(bounded.renewals, 0)
    XCTAssertLessThan(trace.gaps.count, 1200)
    XCTAssertEqual(trace.gaps.reduce(0) { $0 + $1.births }, recording.counts.lost)
    XCTAssertGreaterThan(recording.counts.lost, 0)
  }
}
