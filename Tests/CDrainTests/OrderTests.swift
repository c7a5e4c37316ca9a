// Order: rings merged by stamp inside a round, what comes late, marks and the generations that they close.
import CDrain
import CDrainTestSupport
import CTraceFormat
import LifespanTrace
import XCTest

final class OrderTests: XCTestCase {
  func testRingsAreMergedByStampWithinARound() throws {
    for rings in [1, 2, 3, 8] {
      let recording = try Recording(rings: UInt32(rings))
      var generator = SplitMix(seed: UInt64(rings))
      var stamp: Int64 = 0
      for number in 0..<600 {
        stamp += Int64(generator.next() % 3)
        recording.birth(stamp, 0x1000 + UInt64(number) * 16, ring: UInt32(generator.next() % UInt64(rings)))
      }
      XCTAssertEqual(recording.round(), 600)
      let events = try recording.finished().allEvents()
      let times = events.map(\.time.rawValue)
      XCTAssertEqual(times, times.sorted(), "\(rings) rings")
      XCTAssertEqual(events.map { $0.serial?.rawValue }, (1...600).map { UInt64($0) })
      XCTAssertEqual(recording.counts.late, 0)
    }
  }

  func testADeathOnAnotherThreadFindsItsBirth() throws {
    let recording = try Recording(rings: 2)
    for number in 0..<100 {
      let address = 0x1000 + UInt64(number % 4) * 64
      recording.birth(Int64(number * 10), address, ring: UInt32(number % 2))
      recording.death(Int64(number * 10 + 5), address, ring: UInt32((number + 1) % 2))
    }
    let trace = try recording.finished()
    let events = try trace.allEvents()
    XCTAssertEqual(words(events), (1...100).flatMap { ["birth \($0)", "death \($0)"] })
    XCTAssertEqual(events.map(\.thread.rawValue), (0..<100).flatMap { $0 % 2 == 0 ? [1, 2] : [2, 1] })
    XCTAssertEqual(recording.counts.living, 0)
  }

  func testAnEventBeyondTheCutIsHeldBackWithAllThatStandsBehindIt() throws {
    let recording = try Recording(rings: 2)
    let ahead = Int64(fake_now(recording.fake)) + 600_000_000
    recording.birth(10, 0x10)
    recording.birth(ahead, 0x20)
    recording.type(1, "App.Behind")
    recording.birth(20, 0x30, ring: 1)
    recording.type(2, "App.Free", ring: 1)
    XCTAssertEqual(recording.round(), 2)
    XCTAssertEqual(fake_left(recording.fake, 0), 2 + 4)
    XCTAssertEqual(fake_left(recording.fake, 1), 0)
    let trace = try recording.finished()
    XCTAssertEqual(try trace.allEvents().count, 3)
    XCTAssertEqual(trace.types.map(\.name), ["App.Free", "App.Behind"])
  }

  func testAStampFromTheFutureIsDamage() throws {
    let recording = try Recording()
    recording.birth(Int64(fake_now(recording.fake)) + 60_000_000_000, 0x10)
    recording.birth(10, 0x20)
    recording.round()
    XCTAssertEqual(recording.counts.damaged, 1)
    XCTAssertEqual(fake_left(recording.fake, 0), 0)
  }

  func testAnEventThatTurnsUpLateKeepsItsStampAndIsCounted() throws {
    let recording = try Recording(rings: 2)
    recording.birth(500, 0x10)
    recording.round()
    recording.birth(400, 0x20, ring: 1)
    recording.birth(600, 0x30)
    recording.round()
    let trace = try recording.finished()
    XCTAssertEqual(try trace.allEvents().map(\.time.rawValue), [500, 400, 600])
    XCTAssertEqual(trace.end?["late"], 1)
  }

  func testAMarkSplitsGenerationsByExactStampLateOrNot() throws {
    let recording = try Recording(rings: 2)
    recording.birth(1000, 0x10)
    XCTAssertTrue(fake_mark(recording.fake, 0, 2000, "first"))
    recording.birth(2000, 0x20, ring: 1)
    recording.birth(2001, 0x30)
    recording.round()
    recording.birth(1999, 0x40, ring: 1)
    XCTAssertTrue(fake_mark(recording.fake, 0, 3000, ""))
    recording.birth(3001, 0x50)
    recording.birth(2002, 0x60, ring: 1)
    let trace = try recording.finished()
    let generations = try trace.allEvents().reduce(into: [UInt64: UInt32]()) { known, event in
      known[try XCTUnwrap(event.address).rawValue] = event.generation?.rawValue
    }
    XCTAssertEqual(generations, [0x10: 0, 0x20: 0, 0x30: 1, 0x40: 0, 0x50: 2, 0x60: 1])
    XCTAssertEqual(trace.marks.map(\.name), ["first", ""])
    XCTAssertEqual(trace.marks.map(\.time.rawValue), [2000, 3000])
    XCTAssertEqual(trace.marks.map(\.closes.rawValue), [0, 1])
    for least in UInt32(0)...2 {
      XCTAssertEqual(try trace.tallies(since: least)[1], Tally(recording.rows(since: least)[1]), "\(least)")
    }
  }

  func testAMarkFromOutsideStandsAfterAllThatWasPublishedBefore() throws {
    let recording = try Recording()
    recording.birth(10, 0x10)
    recording.birth(20, 0x20)
    XCTAssertEqual(lifespan_drain_mark(recording.drain, "logged in", 9), 0)
    XCTAssertEqual(recording.counts.births, 2)
    recording.birth(Int64(fake_now(recording.fake)), 0x30)
    XCTAssertEqual(lifespan_drain_mark(recording.drain, nil, 0), 1)
    recording.birth(30, 0x40)
    let trace = try recording.finished()
    XCTAssertEqual(try trace.allEvents().compactMap { $0.generation?.rawValue }, [0, 0, 1, 0])
    XCTAssertEqual(trace.marks.map(\.name), ["logged in", ""])
    XCTAssertEqual(trace.marks.map(\.firstEvent), [2, 3])
  }

  func testAMarkThatTurnsUpLateStandsWhereTheRecordingIs() throws {
    let recording = try Recording(rings: 2)
    recording.birth(1000, 0x10)
    recording.round()
    XCTAssertTrue(fake_mark(recording.fake, 1, 900, "late"))
    recording.birth(1001, 0x20, ring: 1)
    let trace = try recording.finished()
    XCTAssertEqual(trace.marks.map(\.time.rawValue), [1000])
    XCTAssertEqual(try trace.allEvents().compactMap { $0.generation?.rawValue }, [0, 1])
  }

  func testABirthThatWaitsAcrossAMarkStaysInItsGeneration() throws {
    let recording = try Recording(rings: 2)
    recording.birth(100, 0x10)
    recording.birth(2000, 0x10)
    XCTAssertTrue(fake_mark(recording.fake, 0, 2100, ""))
    recording.death(2300, 0x10, ring: 1)
    let trace = try recording.finished()
    let events = try trace.allEvents()
    XCTAssertEqual(words(events), ["birth 1", "death 1", "birth 2"])
    XCTAssertEqual(events.compactMap { $0.generation?.rawValue }, [0, 0])
  }

  func testTasksFollowTheirThread() throws {
    let recording = try Recording(rings: 2)
    recording.birth(1, 0x10)
    XCTAssertTrue(fake_task(recording.fake, 0, 2, 77, 70))
    recording.birth(3, 0x20)
    recording.birth(4, 0x30, ring: 1)
    XCTAssertTrue(fake_task(recording.fake, 0, 5, 0, 0))
    XCTAssertTrue(fake_task(recording.fake, 0, 6, 77, 70))
    recording.birth(7, 0x40)
    let trace = try recording.finished()
    XCTAssertEqual(try trace.allEvents().map(\.task.rawValue), [0, 77, 0, 77])
    XCTAssertEqual(trace.tasks, [TaskRecord(id: TaskID(77), parent: TaskID(70))])
  }
}

/// A small generator, the same on every machine.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
