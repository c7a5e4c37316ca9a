// save: whatever the history still holds, a reader counts what the tables say.
import CDrain
import CDrainTestSupport
import CTraceFormat
import LifespanTrace
import XCTest

final class SaveTests: XCTestCase {
  func testASavedTraceCountsLikeTheTablesForEveryLengthOfHistory() throws {
    for history in [UInt32(0), 1, 2, 7, 40, 200, 5000] {
      let recording = try Recording(rings: 2, history: history)
      try act(recording)
      for least in UInt32(0)...3 {
        let expected = recording.rows(since: least).mapValues { Tally($0) }
        XCTAssertEqual(try recording.saved().tallies(since: least), expected, "history \(history), since \(least)")
      }
      XCTAssertEqual(try recording.saved().marks.count, 3)
      let trace = try recording.finished()
      XCTAssertEqual(try trace.tallies(), recording.rows().mapValues { Tally($0) })
    }
  }

  /// Births, deaths, kept memory, moves and marks, of both threads.
  private func act(_ recording: Recording) throws {
    var generator = SplitMix(seed: 11)
    var living: [UInt64] = []
    var free = (1...60).map { UInt64($0) * 0x100 }
    var stamp: Int64 = 1000
    for id in UInt32(1)...4 { recording.type(id, "App.T\(id)") }
    for step in 0..<600 {
      stamp += 2000
      let ring = UInt32(generator.next() % 2)
      switch generator.next() % 10 {
      case 0..<5 where !free.isEmpty:
        let address = free.remove(at: Int(generator.next() % UInt64(free.count)))
        recording.birth(stamp, address, type: UInt32(1 + step % 4), size: 8 + generator.next() % 3 * 8, ring: ring)
        living.append(address)
      case 5 where !living.isEmpty && !free.isEmpty:
        let from = living.remove(at: Int(generator.next() % UInt64(living.count)))
        let to = generator.next() % 2 == 0 ? from : free.removeLast()
        recording.event(LIFESPAN_R_MOVING, stamp, from, ring: ring)
        XCTAssertTrue(fake_moved(recording.fake, ring, stamp + 1, from, to, generator.next() % 99))
        if to != from { free.append(from) }
        living.append(to)
      case 6 where !living.isEmpty:
        recording.event(LIFESPAN_R_DEINIT, stamp, living[Int(generator.next() % UInt64(living.count))], ring: ring)
      case 7 where !living.isEmpty:
        recording.retain(stamp, living[0], ring: ring)
      case 8, 9:
        guard !living.isEmpty else { break }
        let address = living.remove(at: Int(generator.next() % UInt64(living.count)))
        recording.event(generator.next() % 4 == 0 ? LIFESPAN_R_FREE : LIFESPAN_R_DEATH, stamp, address, ring: ring)
        free.append(address)
      default: break
      }
      if step % 200 == 100 { XCTAssertTrue(fake_mark(recording.fake, 0, stamp + 10, "m\(step)")) }
      if step % 90 == 0 { recording.round() }
    }
    recording.round()
    recording.round()
    XCTAssertEqual(recording.counts.damaged, 0)
  }

  func testASavedTraceKeepsSerialsAddressesAndTheWholeLifeOfRecentObjects() throws {
    let recording = try Recording(history: 4)
    recording.type(1, "App.Node")
    XCTAssertTrue(fake_node(recording.fake, 0, 2, 0, 0x4000, 0, 0))
    recording.birth(1, 0x10, stack: 2)
    recording.birth(2, 0x20)
    recording.death(3, 0x20)
    recording.retain(4, 0x10)
    recording.birth(5, 0x30)
    recording.death(6, 0x30)
    recording.round()
    let trace = try recording.saved()
    let events = try trace.allEvents()
    XCTAssertEqual(words(events), ["birth 1", "retain 1", "birth 3", "death 3"])
    XCTAssertEqual(events.map { $0.address?.rawValue }, [0x10, 0x10, 0x30, 0x30])
    XCTAssertEqual(events.map(\.time.rawValue), [1, 4, 5, 6])
    XCTAssertEqual(trace.totals, [TotalRecord(type: TypeID(1), generation: Generation(0), births: 1, bytes: 32)])
    XCTAssertEqual(trace.types.map(\.name), ["App.Node"])
    XCTAssertEqual(trace.end?["births"], 3)
    XCTAssertEqual(trace.info["program"], "/bin/fake")
  }

  func testWhatHappenedToAnOldObjectIsToldOnce() throws {
    for history in UInt32(1)...6 {
      let recording = try Recording(history: history)
      recording.birth(1, 0x10, size: 8)
      recording.event(LIFESPAN_R_MOVING, 2, 0x10)
      XCTAssertTrue(fake_moved(recording.fake, 0, 3, 0x10, 0x20, 16))
      recording.event(LIFESPAN_R_DEINIT, 4, 0x20)
      recording.birth(5, 0x30)
      recording.round()
      let trace = try recording.saved()
      let events = try trace.allEvents()
      // A move that the history has forgotten is told by the birth: where and how large the object is since then.
      let moved = history >= 3 ? ["moved 1"] : []
      XCTAssertEqual(words(events), ["birth 1"] + moved + ["deinit 1", "birth 2"], "history \(history)")
      XCTAssertEqual(events[events.count - 2].address?.rawValue, 0x20)
      XCTAssertEqual(trace.sites[Int(try XCTUnwrap(events[events.count - 3].site).rawValue)].size, ByteCount(16))
    }
  }

  func testASavedTraceSaysHowManyEventsOfItsObjectsAreGone() throws {
    for (history, dropped) in [(UInt32(0), "10"), (4, "7"), (5, "6"), (11, "0"), (100, "0")] {
      let recording = try Recording(history: history)
      recording.birth(1, 0x10)
      for number in 0..<10 { recording.retain(Int64(10 + number), 0x10) }
      recording.birth(30, 0x20)
      recording.round()
      XCTAssertEqual(try recording.saved().info["history.dropped"], dropped, "history \(history)")
    }
  }

  func testASavedTraceIsHandedOverInPieces() throws {
    let recording = try Recording(history: 16)
    for number in UInt64(1)...50 { recording.birth(Int64(number), number << 8) }
    recording.round()
    var bytes: [UInt8] = []
    let asked = recording.ask(LIFESPAN_ASK_SAVE, room: 200) { piece in
      if bytes.isEmpty { recording.death(1000, 0x100) }
      recording.round()  // goes on meanwhile: the pieces are of one moment
      bytes += piece
      return (piece.count + 63) / 64
    }
    XCTAssertEqual(asked.error, 0)
    XCTAssertGreaterThan(asked.pieces.count, 2)
    let trace = try Trace(TraceMemory(bytes))
    XCTAssertEqual(try trace.allEvents().count, 50)
    XCTAssertEqual(trace.ending.reason, .whole)
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_SAVE, room: 8).error, -Int64(EMSGSIZE))
  }

  func testASaveLeavesTheRunningTraceAlone() throws {
    let recording = try Recording(history: 16)
    recording.birth(1, 0x10)
    recording.round()
    _ = try recording.saved()
    recording.death(2, 0x10)
    XCTAssertEqual(words(try recording.finished().allEvents()), ["birth 1", "death 1"])
  }

  func testADrainWithoutASinkKeepsTheTablesAndSaves() throws {
    let recording = try Recording(history: 16, sink: false)
    recording.birth(1, 0x10)
    recording.round()
    XCTAssertEqual(words(try recording.saved().allEvents()), ["birth 1"])
    XCTAssertEqual(lifespan_drain_finish(recording.drain, true, 0), 0)
    XCTAssertEqual(recording.sunk.calls, 0)
  }

  func testAFailingSinkIsToldOf() throws {
    let recording = try Recording()
    recording.round()
    let broken = Sunk()
    broken.error = EIO
    XCTAssertEqual(lifespan_drain_save(recording.drain, Sunk.take, broken.pointer), EIO)
    XCTAssertEqual(broken.calls, 1)
    XCTAssertEqual(recording.round(), 0)
  }
}
