// The loop of the recording command: it drains, moves the beat, holds the mutex, ends when it is told to.
import CDrain
import CDrainTestSupport
import CTraceFormat
import Foundation
import LifespanTrace
import XCTest

final class RunTests: XCTestCase {
  func testTheLoopDrainsUntilItIsToldToStop() throws {
    let recording = try Recording()
    let stop = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
    stop.initialize(to: 0)
    defer { stop.deallocate() }
    for number in 0..<100 { recording.birth(Int64(number), 0x1000 + UInt64(number) * 16) }
    let done = DispatchSemaphore(value: 0)
    let result = Result()
    nonisolated(unsafe) let drain = recording.drain
    nonisolated(unsafe) let flag = stop
    Thread.detachNewThread {
      result.value = fake_run(drain, flag)
      done.signal()
    }
    XCTAssertTrue(fake_wait_empty(recording.fake, 0, 5000), "not drained")
    fake_stop(stop)
    XCTAssertEqual(done.wait(timeout: .now() + 5), .success)
    XCTAssertEqual(result.value, 0)
    XCTAssertEqual(recording.counts.births, 100)
    XCTAssertFalse(fake_consumer_alive(recording.fake))
    XCTAssertEqual(try recording.finished().allEvents().count, 100)
  }

  func testNothingIsLostUnderTwoThreadsThatEndEachOthersObjects() throws {
    let recording = try Recording(rings: 2, log2: 8)
    let stop = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
    stop.initialize(to: 0)
    defer { stop.deallocate() }
    let result = Result()
    nonisolated(unsafe) let drain = recording.drain
    nonisolated(unsafe) let fake = recording.fake
    nonisolated(unsafe) let flag = stop
    let loop = DispatchGroup()
    let producers = DispatchGroup()
    loop.enter()
    Thread.detachNewThread {
      result.value = fake_run(drain, flag)
      loop.leave()
    }
    for ring in UInt32(0)..<2 {
      producers.enter()
      Thread.detachNewThread {
        fake_produce(fake, ring, 60_000, 12)
        producers.leave()
      }
    }
    XCTAssertEqual(producers.wait(timeout: .now() + 50), .success)
    fake_stop(stop)
    XCTAssertEqual(loop.wait(timeout: .now() + 5), .success)
    XCTAssertEqual(result.value, 0)
    let trace = try recording.finished()
    let counts = recording.counts
    XCTAssertEqual(counts.births, 120_000)
    XCTAssertLessThanOrEqual(counts.living, 2, "what was handed over last")
    XCTAssertEqual(counts.damaged, 0)
    XCTAssertEqual(counts.ends_not_seen, 0)
    XCTAssertTrue(fake_switch_done(recording.fake, 0) && fake_switch_done(recording.fake, 1))
    XCTAssertEqual(try trace.tallies(), recording.rows().mapValues { Tally($0) })
  }

  private final class Result: @unchecked Sendable { var value: Int32 = -1 }
}
