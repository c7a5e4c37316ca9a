// The bytes of a trace: header, chunks, checksums, every kind of row, compression, sinks that fail.
import CDrain
import CDrainTestSupport
import CTraceFormat
import Foundation
import LifespanTrace
import XCTest

final class TraceWritingTests: XCTestCase {
  func testNothingIsWrittenBeforeTheProgramRuns() throws {
    let recording = try Recording()
    fake_set_state(recording.fake, LIFESPAN_PROGRAM_NEW.rawValue)
    XCTAssertEqual(recording.round(), 0)
    XCTAssertEqual(lifespan_drain_mark(recording.drain, nil, 0), -Int64(EAGAIN))
    XCTAssertEqual(lifespan_drain_save(recording.drain, Sunk.take, recording.sunk.pointer), EAGAIN)
    XCTAssertEqual(recording.sunk.bytes.count, 0)
    fake_set_state(recording.fake, LIFESPAN_PROGRAM_RUNNING.rawValue)
    recording.round()
    XCTAssertEqual(Array(recording.sunk.bytes.prefix(8)), Array("LIFESPAN".utf8))
  }

  func testAProgramThatNeverCameToRunLeavesAnEmptyWholeTrace() throws {
    let recording = try Recording()
    fake_set_state(recording.fake, LIFESPAN_PROGRAM_NEW.rawValue)
    recording.round()
    XCTAssertEqual(try recording.finished().end?["events"], 0)
  }

  func testTheHeaderAndTheFactsOfTheProgramAreWritten() throws {
    let recording = try Recording(unit: 1024)
    lifespan_drain_info(recording.drain, "arguments", "fake 'a b'")
    recording.round()
    fake_set_capture(recording.fake, LIFESPAN_CAPTURE_PARTIAL.rawValue, "no room")
    let trace = try recording.finished()
    let bytes = recording.sunk.bytes
    func field(_ at: Int, _ count: Int) -> UInt64 {
      bytes[at..<at + count].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    XCTAssertEqual(field(8, 2), 1)
    XCTAssertEqual(field(12, 4), 64)
    XCTAssertEqual(field(16, 1), UInt64(LIFESPAN_CLOCK_MONOTONIC.rawValue))
    XCTAssertEqual(field(18, 1), UInt64(LIFESPAN_CAPTURE_COMPLETE.rawValue))
    XCTAssertEqual(field(20, 4), 4096)
    XCTAssertEqual(field(24, 8), 1_000_000_000)
    XCTAssertEqual(field(32, 8), fake_start(recording.fake))
    XCTAssertEqual(field(40, 8), 1_709_164_800_000_000_000)
    XCTAssertEqual(field(48, 4), UInt64(getpid()))
    XCTAssertEqual(field(56, 4), 1024)
    XCTAssertEqual(
      trace.info,
      [
        "program": "/bin/fake", "arguments": "fake 'a b'", "started_at": "2024-02-29T00:00:00Z", "capture": "partial",
        "capture.reason": "no room",
      ])
    XCTAssertEqual(trace.end?["clean"], 1)
  }

  func testTheStartIsWrittenAsADateOfAnyYear() throws {
    let formatter = ISO8601DateFormatter()
    for seconds in stride(from: UInt64(0), to: 17_000_000_000, by: 37_123_457) {
      let recording = try Recording()
      fake_set_realtime(recording.fake, seconds * 1_000_000_000)
      let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
      XCTAssertEqual(try recording.finished().info["started_at"], expected)
    }
  }

  func testTheRateOfTheTimeStampCounterIsMeasured() throws {
    let recording = try Recording()
    fake_use_counter(recording.fake)
    recording.round()
    #if arch(x86_64)
    let rate = recording.counts.ticks_per_second
    XCTAssertTrue((100_000_000...10_000_000_000).contains(rate), "\(rate)")
    XCTAssertEqual(recording.sunk.bytes[16], UInt8(LIFESPAN_CLOCK_TSC.rawValue))
    #endif
  }

  func testEveryKindOfFactIsWritten() throws {
    let recording = try Recording()
    recording.type(1, "App.Base")
    XCTAssertTrue(fake_type(recording.fake, 0, 2, LIFESPAN_KIND_BOX.rawValue, 1, String(repeating: "n", count: 3000)))
    recording.type(1, "App.Base")
    XCTAssertTrue(fake_node(recording.fake, 0, 3, 2, 0x40_2000, 4, 0))
    XCTAssertTrue(fake_node(recording.fake, 0, 2, 0, 0x40_1000, 4, 3))
    XCTAssertTrue(fake_image(recording.fake, 0, 1, 0x40_0000, 0x50_0000, "/bin/fake"))
    XCTAssertTrue(fake_thread(recording.fake, 0, 1, 99, "main"))
    recording.event(LIFESPAN_R_RECORDING, 30, 0)
    recording.event(LIFESPAN_R_RECORDING, 40, 1)
    let trace = try recording.finished()
    XCTAssertEqual(trace.types.count, 2)
    XCTAssertEqual(trace.types[1].name.utf8.count, 3000)
    XCTAssertEqual(trace.types[1].superclass, TypeID(1))
    XCTAssertEqual(trace.types[1].kind, .box)
    XCTAssertEqual(trace.threads, [ThreadRecord(thread: ThreadID(1), tid: 99, time: Ticks(5), name: "main")])
    XCTAssertEqual(
      trace.recording,
      [RecordingRecord(time: Ticks(30), goesOn: false), RecordingRecord(time: Ticks(40), goesOn: true)])
    XCTAssertEqual(frames(recording, 3), [0x40_2000, 0x40_1000])
  }

  private func frames(_ recording: Recording, _ stack: UInt64) -> [UInt64] {
    let answer = recording.ask(LIFESPAN_ASK_STACK, address: stack, room: 8) { $0.count / 8 }
    return answer.pieces.flatMap { $0.withUnsafeBytes { Array($0.bindMemory(to: UInt64.self)) } }
  }

  func testAChunkIsClosedAtSixtyFiveThousandEvents() throws {
    let recording = try Recording(rings: 2, log2: 16)
    var stamp: UInt64 = 1
    for _ in 0..<12 {
      stamp = fake_load(recording.fake, 2, 8192, stamp)
      recording.round()
    }
    let trace = try recording.finished()
    var chunks = 0
    var reader = try TraceReader(TraceMemory(recording.sunk.bytes))
    while let chunk = try reader.next() { chunks += chunk.header.kind == .events ? 1 : 0 }
    XCTAssertEqual(chunks, (12 * 2 * 2 * 8192 + 65_535) / 65_536)
    XCTAssertEqual(trace.end?["events"], 12 * 2 * 2 * 8192)
    XCTAssertEqual(try trace.tallies(), recording.rows().mapValues { Tally($0) })
    XCTAssertEqual(recording.counts.living, 0)
    let addresses = try trace.allEvents().map { $0.address?.rawValue ?? 0 }
    XCTAssertFalse(addresses.contains(0))
  }

  func testAddressesComeBackForEveryOrderOfFreeing() throws {
    let recording = try Recording(log2: 16)
    var generator = SplitMix(seed: 7)
    var living: [UInt64] = []
    var free = (0..<3000).map { 0x10_0000 + UInt64($0) * 64 }
    var expected: [UInt64] = []
    for step in 0..<20_000 {
      if !free.isEmpty && (living.isEmpty || generator.next() % 16 < 9) {
        let address =
          generator.next() % 2 == 0 ? free.removeLast() : free.remove(at: Int(generator.next() % UInt64(free.count)))
        recording.birth(Int64(step), address, size: 16 << (address >> 6 & 1))
        living.append(address)
        expected.append(address)
      } else {
        let address = living.remove(at: Int(generator.next() % UInt64(living.count)))
        recording.death(Int64(step), address)
        free.append(address)
        expected.append(address)
      }
      if step % 4000 == 0 {
        recording.round()
        XCTAssertEqual(lifespan_drain_flush(recording.drain), 0)
      }
    }
    XCTAssertEqual(try recording.finished().allEvents().map { $0.address?.rawValue ?? 0 }, expected)
  }

  func testAThousandAndMoreFreedAddressesComeBackInOneChunk() throws {
    let recording = try Recording(log2: 15)
    let addresses = (1...2500).map { UInt64($0) * 4096 }
    for (step, address) in addresses.enumerated() { recording.birth(Int64(step), address) }
    for (step, address) in addresses.enumerated() { recording.death(Int64(3000 + step), address) }
    for (step, address) in addresses.reversed().enumerated() { recording.birth(Int64(6000 + step), address) }
    let read = try recording.finished().allEvents().map { $0.address?.rawValue ?? 0 }
    XCTAssertEqual(read, addresses + addresses + addresses.reversed())
  }

  func testChecksumsAreThoseOfTheReference() throws {
    let recording = try Recording()
    recording.birth(1, 0x10)
    _ = try recording.finished()
    var at = 64
    let bytes = recording.sunk.bytes
    func word(_ at: Int) -> UInt32 { bytes[at..<at + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) } }
    var chunks = 0
    while at < bytes.count {
      let stored = Int(word(at + 12))
      XCTAssertEqual(word(at + 16), fake_crc32c(Array(bytes[at + 24..<at + 24 + stored]), stored))
      XCTAssertEqual(word(at + 20), fake_crc32c(Array(bytes[at..<at + 20]), 20))
      at += 24 + stored
      chunks += 1
    }
    XCTAssertGreaterThan(chunks, 3)
  }

  func testACompressorIsUsedWhereItMakesAChunkSmaller() throws {
    let fake = try XCTUnwrap(fake_create(1, 12, false))
    defer { fake_destroy(fake) }
    let sunk = Sunk()
    var options = lifespan_drain_options()
    options.map = fake_mapping(fake)
    options.file = -1
    options.sink = Sunk.take
    options.sink_context = sunk.pointer
    // Stands in for zstd: half the length, of no use to a reader.
    options.compressor = { _, target, room, _, length in
      guard length > 400, let target, room >= length / 2 else { return 0 }
      target.initializeMemory(as: UInt8.self, repeating: 9, count: length / 2)
      return length / 2
    }
    let drain = try XCTUnwrap(lifespan_drain_create(&options))
    defer { lifespan_drain_destroy(drain) }
    for number in 0..<500 {
      XCTAssertTrue(fake_birth(fake, 0, Int64(number), 0x1000 + UInt64(number) * 4096, 1, 0, 16))
    }
    lifespan_drain_round(drain)
    XCTAssertEqual(lifespan_drain_finish(drain, true, 0), 0)
    var reader = try TraceReader(TraceMemory(sunk.bytes))
    var codecs: [UInt8: Int] = [:]
    while let chunk = try reader.next() { codecs[chunk.header.codec, default: 0] += 1 }
    XCTAssertEqual(reader.ending.reason, .whole)
    XCTAssertEqual(codecs[1], 1)
    XCTAssertGreaterThan(codecs[0] ?? 0, 2)
  }

  func testAfterAnErrorNothingMoreIsOffered() throws {
    let recording = try Recording()
    recording.birth(1, 0x10)
    recording.round()
    recording.sunk.error = ENOSPC
    XCTAssertEqual(lifespan_drain_flush(recording.drain), ENOSPC)
    let calls = recording.sunk.calls
    recording.birth(2, 0x20)
    XCTAssertEqual(recording.round(), -Int64(ENOSPC))
    XCTAssertEqual(lifespan_drain_finish(recording.drain, true, 0), ENOSPC)
    XCTAssertEqual(recording.sunk.calls, calls)
    XCTAssertEqual(recording.counts.living, 2, "the table goes on")
  }

  func testAFlushMakesTheRunningTraceReadable() throws {
    let recording = try Recording()
    recording.birth(1, 0x10)
    recording.round()
    XCTAssertEqual(lifespan_drain_flush(recording.drain), 0)
    let running = try Trace(TraceMemory(recording.sunk.bytes))
    XCTAssertEqual(running.ending.reason, .unfinished)
    XCTAssertEqual(words(try running.allEvents(ending: .unfinished)), ["birth 1"])
    XCTAssertEqual(recording.counts.bytes_written, UInt64(recording.sunk.bytes.count))
  }

  func testEveryTruncationOfATraceIsReadUpToItsLastWholeChunk() throws {
    let recording = try Recording()
    recording.birth(1, 0x10)
    recording.round()
    XCTAssertEqual(lifespan_drain_mark(recording.drain, "m", 1), 0)
    recording.death(3, 0x10)
    let whole = try recording.finished()
    XCTAssertEqual(try whole.allEvents().count, 2)
    let bytes = recording.sunk.bytes
    for length in 64..<bytes.count {
      let cut = try Trace(TraceMemory(Array(bytes[..<length])))
      XCTAssertNotEqual(cut.ending.reason, .whole, "\(length)")
    }
  }
}
