// Rings: wrapping, growing, damage, losses, threads that are gone, room ahead.
import CDrain
import CDrainTestSupport
import CTraceFormat
import LifespanTrace
import XCTest

final class RingTests: XCTestCase {
  func testARingWrapsAtEveryFillLevel() throws {
    // 16 cells: every start position, every number of births that fits.
    for start in 0..<16 {
      for count in 1...8 {
        let recording = try Recording(log2: 4)
        for step in 0..<start {
          recording.event(LIFESPAN_R_FREE, Int64(step), 0x9990)
          recording.round()
        }
        for number in 0..<count { recording.birth(Int64(100 + number), 0x1000 + UInt64(number) * 16) }
        XCTAssertEqual(recording.round(), Int64(count), "\(start) \(count)")
        XCTAssertEqual(recording.counts.births, UInt64(count))
        XCTAssertEqual(fake_left(recording.fake, 0), 0)
      }
    }
  }

  func testARingThatIsFullToTheLastCellIsRead() throws {
    let recording = try Recording(log2: 4)
    for number in 0..<8 { recording.birth(Int64(number), 0x1000 + UInt64(number) * 16) }
    XCTAssertFalse(fake_birth(recording.fake, 0, 9, 0x10, 1, 0, 1))
    XCTAssertEqual(recording.round(), 8)
    XCTAssertEqual(recording.counts.damaged, 0)
  }

  func testAProducerMayGoOnInALargerBufferAtEveryBoundary() throws {
    for before in 0...8 {
      for drained in 0...before {
        for after in 0...10 {
          let recording = try Recording(log2: 4)
          var address: UInt64 = 0x1000
          func births(_ count: Int) {
            for _ in 0..<count {
              recording.birth(Int64(address), address)
              address += 16
            }
          }
          births(drained)
          recording.round()
          births(before - drained)
          fake_switch(recording.fake, 0, 6)
          births(after)
          recording.round()
          let place = "\(before) \(drained) \(after)"
          XCTAssertEqual(recording.counts.births, UInt64(before + after), place)
          XCTAssertEqual(fake_left(recording.fake, 0), 0, place)
          XCTAssertTrue(fake_switch_done(recording.fake, 0), place)
          births(20)
          recording.round()
          XCTAssertEqual(recording.counts.births, UInt64(before + after + 20), place)
          XCTAssertEqual(recording.counts.damaged, 0, place)
        }
      }
    }
  }

  func testAProducerMayGrowTwice() throws {
    let recording = try Recording(log2: 4)
    for (step, log2) in [UInt32(5), 6].enumerated() {
      for number in 0..<6 { recording.birth(Int64(step * 10 + number), UInt64(0x1000 + step * 0x100 + number * 16)) }
      fake_switch(recording.fake, 0, log2)
      recording.birth(Int64(step * 10 + 7), UInt64(0x5000 + step * 16))
      recording.round()
    }
    XCTAssertEqual(recording.counts.births, 14)
    XCTAssertEqual(recording.counts.damaged, 0)
  }

  func testEveryTruncationOfARecordIsDamageAndNothingMore() throws {
    let recording = try Recording()
    let shapes: [(lifespan_record_kind, Int)] = [
      (LIFESPAN_R_BIRTH, 2), (LIFESPAN_R_DEATH, 2), (LIFESPAN_R_RETAIN, 2), (LIFESPAN_R_MOVED, 3), (LIFESPAN_R_TASK, 2),
      (LIFESPAN_R_MARK, 3), (LIFESPAN_R_NODE, 2), (LIFESPAN_R_TYPE, 5), (LIFESPAN_R_IMAGE, 6), (LIFESPAN_R_THREAD, 4),
    ]
    var damaged: UInt64 = 0
    for (kind, length) in shapes {
      for shown in 1..<length {
        var cells = Array(repeating: lifespan_cell(a: 0, b: 0), count: length)
        cells[0] = lifespan_cell(
          a: fake_start(recording.fake), b: lifespan_head_word(kind.rawValue, UInt32(length), 16))
        fake_cut(recording.fake, 0, cells, length, shown)
        recording.round()
        damaged += 1
        XCTAssertEqual(recording.counts.damaged, damaged, "\(kind) \(shown)")
        XCTAssertEqual(fake_left(recording.fake, 0), 0)
      }
    }
    recording.birth(10, 0x10)
    let trace = try recording.finished()
    XCTAssertEqual(try trace.allEvents().count, 1)
    XCTAssertEqual(trace.gaps.map(\.reason), [5])
    XCTAssertEqual(trace.gaps.map(\.thread.rawValue), [1])
  }

  func testRecordsThatCanNotBeAreDamage() throws {
    let recording = try Recording()
    let start = fake_start(recording.fake)
    func head(_ kind: lifespan_record_kind, _ cells: UInt32, _ value: UInt64) -> UInt64 {
      lifespan_head_word(kind.rawValue, cells, value)
    }
    let wrong: [[lifespan_cell]] = [
      [lifespan_cell(a: start, b: 0)],
      [lifespan_cell(a: start, b: lifespan_head_word(14, 1, 1))],
      [lifespan_cell(a: start, b: lifespan_head_word(200, 1, 1))],
      [lifespan_cell(a: start, b: head(LIFESPAN_R_BIRTH, 2, 0)), lifespan_cell(a: 1 << 32, b: 8)],
      [lifespan_cell(a: start, b: head(LIFESPAN_R_BIRTH, 2, 16)), lifespan_cell(a: 0, b: 8)],
      [lifespan_cell(a: start, b: head(LIFESPAN_R_BIRTH, 2, 16)), lifespan_cell(a: UInt64.max, b: 8)],
      [lifespan_cell(a: start, b: head(LIFESPAN_R_MARK, 1, 5))],
      [lifespan_cell(a: start, b: head(LIFESPAN_R_RECORDING, 1, 2))],
      [lifespan_cell(a: 1, b: head(LIFESPAN_R_NODE, 2, 1)), lifespan_cell(a: 0, b: 0)],
      [lifespan_cell(a: 1, b: head(LIFESPAN_R_NODE, 2, 1 << 40)), lifespan_cell(a: 0, b: 0)],
      [lifespan_cell(a: 1, b: head(LIFESPAN_R_NODE, 2, 9)), lifespan_cell(a: 9, b: 0)],  // its own parent
      [lifespan_cell(a: 1, b: head(LIFESPAN_R_TYPE, 1, 1))],
      [lifespan_cell(a: 1, b: head(LIFESPAN_R_TYPE, 3, 1)), lifespan_cell(a: 99, b: 0), lifespan_cell(a: 0, b: 0)],
      [lifespan_cell(a: 1, b: head(LIFESPAN_R_TYPE, 3, 1)), lifespan_cell(a: 1, b: 1), lifespan_cell(a: 0, b: 0)],
      [lifespan_cell(a: 1, b: head(LIFESPAN_R_IMAGE, 3, 1)), lifespan_cell(a: 1, b: 2), lifespan_cell(a: 1, b: 1)],
      // Numbers that a reader has no room for: the trace would end at them.
      [
        lifespan_cell(a: 1, b: head(LIFESPAN_R_IMAGE, 3, 1 << 32)), lifespan_cell(a: 1, b: 2),
        lifespan_cell(a: 0, b: 1),
      ],
      [lifespan_cell(a: 1, b: head(LIFESPAN_R_THREAD, 2, 1)), lifespan_cell(a: 0, b: 99)],
      [lifespan_cell(a: 1, b: head(LIFESPAN_R_THREAD, 2, 1 << 32)), lifespan_cell(a: 0, b: 1)],
    ]
    for (number, cells) in wrong.enumerated() {
      XCTAssertTrue(fake_cells(recording.fake, 0, cells, cells.count))
      recording.birth(Int64(number), 0x4000 + UInt64(number) * 16)
      recording.round()
      XCTAssertEqual(recording.counts.damaged, UInt64(number + 1), "\(number)")
      XCTAssertEqual(recording.counts.births, 0, "what stands behind a damaged record is skipped")
    }
  }

  func testLossesAreReadAsDifferencesAndWrittenAsGaps() throws {
    let recording = try Recording(rings: 2)
    recording.birth(10, 0x10)
    fake_lose(recording.fake, 0, 3, 2, 1, 20, 30)
    recording.round()
    XCTAssertEqual(recording.counts.lost, 6)
    recording.round()
    XCTAssertEqual(recording.counts.lost, 6)
    XCTAssertEqual(lifespan_drain_flush(recording.drain), 0)
    fake_lose(recording.fake, 0, 1, 0, 0, 40, 50)
    fake_suppress(recording.fake, 1, 4)
    fake_refuse(recording.fake, 9)
    recording.round()
    let trace = try recording.finished()
    XCTAssertEqual(trace.end?["lost"], 16)
    XCTAssertEqual(trace.end?["suppressed"], 4)
    let full = trace.gaps.filter { $0.reason == 1 }
    XCTAssertEqual(full.map(\.births), [3, 1])
    XCTAssertEqual(full.map(\.deaths), [2, 0])
    XCTAssertEqual(full.map(\.others), [1, 0])
    XCTAssertEqual(full.map(\.from.rawValue), [20, 30])
    XCTAssertEqual(full.map(\.to.rawValue), [30, 50])
    XCTAssertEqual(trace.gaps.filter { $0.reason == 3 }.map(\.others), [4])
    XCTAssertEqual(trace.gaps.filter { $0.reason == 3 }.map(\.thread.rawValue), [2])
    XCTAssertEqual(trace.gaps.filter { $0.reason == 2 }.map(\.others), [9])
  }

  func testALossBelongsToTheThreadThatHadTheRingThen() throws {
    let recording = try Recording()
    fake_lose(recording.fake, 0, 1, 0, 0, 20, 30)
    recording.round()
    XCTAssertTrue(fake_thread(recording.fake, 0, 7, 4711, "next"))
    recording.round()
    fake_lose(recording.fake, 0, 2, 0, 0, 40, 50)
    let trace = try recording.finished()
    XCTAssertEqual(trace.gaps.map(\.thread.rawValue), [1, 7])
    XCTAssertEqual(trace.gaps.map(\.births), [1, 2])
  }

  func testTheEmptyRingOfAThreadThatIsGoneIsTakenBack() throws {
    let recording = try Recording(rings: 3, threadCheck: true)
    let gone: UInt32 = 0x3fff_fff0  // beyond every kernel's limit
    fake_owner(recording.fake, 1, gone)
    fake_owner(recording.fake, 2, gone)
    recording.birth(Int64(fake_now(recording.fake)) + 500_000_000, 0x10, ring: 2)
    recording.round()
    XCTAssertTrue(fake_claimed(recording.fake, 0), "its thread lives")
    XCTAssertFalse(fake_claimed(recording.fake, 1))
    XCTAssertTrue(fake_claimed(recording.fake, 2), "it is not empty")
    // The next owner goes on where the ring stands.
    fake_owner(recording.fake, 1, 0)
    recording.birth(20, 0x20, ring: 1)
    recording.round()
    XCTAssertEqual(recording.counts.births, 1)
  }

  func testAThreadThatTakesARingOverWritesInItsOwnName() throws {
    let recording = try Recording()
    XCTAssertTrue(fake_task(recording.fake, 0, 1, 5, 0))
    recording.birth(2, 0x10)
    XCTAssertTrue(fake_thread(recording.fake, 0, 7, 4711, "worker"))
    recording.birth(3, 0x20)
    let trace = try recording.finished()
    XCTAssertEqual(try trace.allEvents().map(\.thread.rawValue), [1, 7])
    XCTAssertEqual(try trace.allEvents().map(\.task.rawValue), [5, 0])
    XCTAssertEqual(trace.threads.map(\.name), ["worker"])
  }

  func testTheFileGrowsAheadOfNeed() throws {
    let recording = try Recording(file: true)
    recording.round()
    let before = fake_allocated(recording.fake)
    recording.round()
    XCTAssertEqual(fake_allocated(recording.fake), before, "4 MiB are free")
    fake_take(recording.fake, 3 << 20)
    recording.round()
    XCTAssertEqual(fake_allocated(recording.fake), before + 8 << 20)
    fake_take(recording.fake, 1 << 40)
    recording.round()
    XCTAssertEqual(fake_allocated(recording.fake), before + 8 << 20, "no honest program gets there")
    fake_switch(recording.fake, 0, 4)
  }

  func testAMappingOfAnotherKindIsRefused() throws {
    let fake = try XCTUnwrap(fake_create(1, 4, false))
    defer { fake_destroy(fake) }
    var options = lifespan_drain_options()
    options.map = fake_mapping(fake)
    options.file = -1
    UnsafeMutableRawPointer(fake_mapping(fake))?.storeBytes(of: LIFESPAN_ABI + 1, toByteOffset: 8, as: UInt32.self)
    XCTAssertNil(lifespan_drain_create(&options))
    XCTAssertEqual(errno, EPROTO)
  }

  func testRandomBytesDoNoHarm() throws {
    var applied: UInt64 = 0
    for plausible in [false, true] {
      for seed in UInt64(1)...60 {
        let recording = try Recording(rings: 4, log2: 8, history: 256)
        for step in UInt64(0)..<6 {
          fake_scramble(recording.fake, seed &* 1000 &+ step, plausible)
          recording.round()
          if step == 3 { _ = lifespan_drain_mark(recording.drain, "x", 1) }
        }
        _ = recording.rows()
        let saved = try recording.saved()
        XCTAssertEqual(try saved.tallies(), totals(recording.rows()), "seed \(seed)")
        let trace = try recording.finished()
        XCTAssertEqual(try trace.tallies(), totals(recording.rows()), "seed \(seed)")
        applied += recording.counts.events
      }
    }
    // A fork in them holds back what comes after it, as it must.
    XCTAssertGreaterThan(applied, 2000, "the bytes are so random that they reach nothing")
  }

  private func totals(_ rows: [UInt32: lifespan_row]) -> [UInt32: Tally] { rows.mapValues { Tally($0) } }
}
