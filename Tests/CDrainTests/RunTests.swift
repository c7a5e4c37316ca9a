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
    nonisolated(unsafe) let shared = result
    Thread.detachNewThread {
      shared.value = fake_run(drain, flag)
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

  private final class Result: @unchecked Sendable { var value: Int32 = -1 }
}
