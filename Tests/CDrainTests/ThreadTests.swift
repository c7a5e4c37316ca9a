// Threads from their creation to their end, said by themselves or found out; and samples of the process's memory.
import CDrain
import CDrainTestSupport
import CTraceFormat
import LifespanTrace
import XCTest

final class ThreadTests: XCTestCase {
  private let nobody: UInt32 = 0x3fff_fff0  // beyond every kernel's limit
  private func address(_ number: UInt64) -> UInt64 { 3 << 46 | number }

  /// A thread comes in ring 1, with its birth as an object of type 1.
  private func begin(_ recording: Recording, _ number: UInt32, tid: UInt32, at stamp: Int64) {
    XCTAssertTrue(fake_thread(recording.fake, 1, number, tid, "worker"))
    XCTAssertTrue(fake_thread_origin(recording.fake, 1, stamp, number, 1, 7, 0x4000, 8 << 20))
    recording.birth(stamp, address(UInt64(number)), size: 0, ring: 1)
  }

  func testAThreadThatSaysThatItEndsHasEndedThen() throws {
    let recording = try Recording(rings: 2, threadCheck: true)
    recording.type()
    fake_owner(recording.fake, 1, nobody)
    begin(recording, 2, tid: nobody, at: 10)
    XCTAssertTrue(fake_thread_op(recording.fake, 1, 20, 2, nobody, 2, "renamed"))
    XCTAssertTrue(fake_thread_op(recording.fake, 1, 30, 2, nobody, 3, ""))
    recording.death(31, address(2), ring: 1)
    while fake_claimed(recording.fake, 1) { recording.round() }
    let trace = try recording.finished()
    XCTAssertEqual(trace.threads.map(\.op), [.seen, .renamed, .ended])
    XCTAssertEqual(trace.threads.last?.time, Ticks(30))
    XCTAssertEqual(
      trace.threadOrigins,
      [
        ThreadOriginRecord(
          thread: ThreadID(2), creator: .main, stack: StackID(7), start: 0x4000, time: Ticks(10), stackBytes: 8 << 20)
      ])
    XCTAssertEqual(words(try trace.allEvents()), ["birth 1", "death 1"])
    XCTAssertEqual(recording.counts.damaged, 0)
  }

  func testAThreadThatGoesWithoutAWordIsFoundGone() throws {
    let recording = try Recording(rings: 2, threadCheck: true)
    recording.type()
    fake_owner(recording.fake, 1, nobody)
    begin(recording, 2, tid: nobody, at: 10)
    while fake_claimed(recording.fake, 1) { recording.round() }
    let trace = try recording.finished()
    XCTAssertEqual(trace.threads.map(\.op), [.seen, .gone])
    XCTAssertEqual(trace.threads.map(\.thread), [ThreadID(2), ThreadID(2)])
    let events = try trace.allEvents()
    XCTAssertEqual(words(events), ["birth 1", "death 1"])
    XCTAssertEqual(trace.threads.last?.time, events.last?.time)
    XCTAssertGreaterThan(trace.threads.last?.time.rawValue ?? 0, 10)
  }

  func testAThreadWhoseRingAnotherTakesOverIsGone() throws {
    let recording = try Recording(rings: 2)
    recording.type()
    begin(recording, 2, tid: 77, at: 10)
    recording.round()
    begin(recording, 3, tid: 77, at: 20)
    XCTAssertTrue(fake_thread_op(recording.fake, 1, 40, 3, 77, 3, ""))
    recording.death(41, address(3), ring: 1)
    begin(recording, 4, tid: 77, at: 50)
    let trace = try recording.finished()
    let told = trace.threads.map { "\($0.thread) \($0.op)" }
    XCTAssertEqual(told, ["2 1", "2 4", "3 1", "3 3", "4 1"])
    XCTAssertEqual(words(try trace.allEvents()), ["birth 1", "death 1", "birth 2", "death 2", "birth 3"])
  }

  func testThreadsOfAProcessThatEndsHaveNotEndedThemselves() throws {
    let recording = try Recording(rings: 2, threadCheck: true)
    recording.type()
    fake_set_pid(recording.fake, nobody)
    fake_owner(recording.fake, 0, nobody)
    fake_owner(recording.fake, 1, nobody - 1)
    begin(recording, 2, tid: nobody - 1, at: 10)
    let until = DispatchTime.now() + .milliseconds(300)
    while DispatchTime.now() < until { recording.round() }
    let trace = try recording.finished()
    XCTAssertEqual(trace.threads.map(\.op), [.seen])
    XCTAssertEqual(words(try trace.allEvents()), ["birth 1"])
  }

  func testASampleCountsTheResidentPagesOfTheHeap() throws {
    let recording = try Recording(samples: true)
    let (bytes, touched) = (4 << 20, 1 << 20)
    let pages = fake_pages(bytes, touched)
    defer { fake_pages_free(pages, bytes) }
    recording.type()
    // One block over all of them, and one that is gone: its pages are still there.
    recording.birth(10, pages, size: UInt64(bytes / 2))
    recording.birth(11, pages + UInt64(bytes / 2), size: UInt64(bytes / 2))
    recording.death(12, pages)
    fake_want_sample(recording.fake)
    recording.round()
    XCTAssertTrue(fake_sample_done(recording.fake))
    let trace = try recording.finished()
    let sample = try XCTUnwrap(trace.samples.first { $0.isAtEnd })
    XCTAssertTrue(sample.knowsHeap)
    XCTAssertEqual(sample.heapResident.rawValue + sample.heapSwapped.rawValue, Int64(touched))
    XCTAssertEqual(sample.livingCount, 1)
    XCTAssertEqual(sample.livingBytes.rawValue, Int64(bytes / 2))
    XCTAssertEqual(sample.livingFootprint.rawValue, Int64(bytes / 2) + 16)
    XCTAssertGreaterThanOrEqual(sample.resident.rawValue, Int64(touched))
    XCTAssertGreaterThanOrEqual(sample.resident, sample.anonymous)
  }

  func testADrainThatIsBusyWithItsOwnTableShowsThatItLives() throws {
    let recording = try Recording(log2: 13)
    recording.type()
    func beat() -> UInt64 { fake_beat(recording.fake) }
    let before = beat()
    recording.round()
    let idle = beat() - before
    // 4,096 places are too few.
    for number in 0..<2_600 { recording.birth(Int64(number), 0x10_0000 + UInt64(number) * 16) }
    recording.round()
    XCTAssertGreaterThan(beat() - before - idle, idle)
    XCTAssertEqual(recording.counts.living, 2_600)
  }

  func testThreadsAndTokensAreNoHeap() throws {
    let recording = try Recording(samples: true)
    XCTAssertTrue(fake_type(recording.fake, 0, 1, LIFESPAN_KIND_THREAD.rawValue, 0, "thread"))
    XCTAssertTrue(fake_type(recording.fake, 0, 2, LIFESPAN_KIND_TOKEN.rawValue, 0, "token"))
    recording.birth(10, address(2), size: 0)
    recording.birth(11, 1 << 47 | 1, type: 2, size: 100)
    fake_want_sample(recording.fake)
    recording.round()
    let sample = try XCTUnwrap(try recording.finished().samples.last)
    XCTAssertEqual([sample.livingCount, UInt64(sample.livingBytes.rawValue)], [0, 0])
    XCTAssertEqual(sample.heapResident, .zero)
  }

  func testAProgramThatEndsIsAnsweredWhereNothingIsSampled() throws {
    let recording = try Recording()
    fake_want_sample(recording.fake)
    recording.round()
    XCTAssertTrue(fake_sample_done(recording.fake))
    XCTAssertEqual(try recording.finished().samples, [])
  }

  func testBlocksThatNoMemoryHoldsDoNotStopTheDrain() throws {
    let recording = try Recording(samples: true)
    recording.type()
    for shift in 30..<48 {
      recording.birth(Int64(shift), UInt64(shift) << 20, size: 1 << UInt64(shift))
      recording.birth(Int64(shift), 0x7fff_ffff_f000 + UInt64(shift), size: 1 << UInt64(shift))
    }
    XCTAssertEqual(recording.round(), 36)
    XCTAssertEqual(recording.counts.living, 36)
  }
}
