// A recording whose trace is made anew in memory, and a program that does everything: for NextTests.
import CDrain
import CDrainTestSupport
import CTraceFormat
import XCTest

/// A recording whose trace is made anew, in memory.
final class BoundedRecording {
  let next = Sunk()
  private(set) var renewals = 0
  private(set) var abandoned = 0
  /// Bytes of the smallest file that took the trace's place.
  private(set) var leastRenewed = Int.max
  /// What begin, commit and the sink of the next file say.
  var beginError: Int32 = 0
  var commitError: Int32 = 0
  private(set) var recording: Recording!

  init(
    keeps: Bool = false, least: UInt64 = 3000, limit: UInt64 = 0, history: UInt32 = 50, rings: UInt32 = 2,
    budget: UInt64 = 0
  ) throws {
    let context = Unmanaged.passUnretained(self).toOpaque()
    recording = try Recording(rings: rings, log2: 14, history: history) { options in
      options.keep_living = keeps ? 1 : 0
      options.keep_least = least
      options.max_size = limit
      options.picture_budget = budget
      options.next = lifespan_next(
        begin: { BoundedRecording.from($0).begin() },
        sink: { context, bytes, length in
          Sunk.take(BoundedRecording.from(context).next.pointer, bytes, length)
        }, commit: { BoundedRecording.from($0).commit() }, abandon: { BoundedRecording.from($0).abandon() },
        context: context)
    }
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> BoundedRecording {
    Unmanaged<BoundedRecording>.fromOpaque(context!).takeUnretainedValue()
  }

  private func begin() -> Int32 {
    if beginError == 0 { next.bytes = [] }
    return beginError
  }

  private func commit() -> Int32 {
    if commitError != 0 { return commitError }
    recording.sunk.bytes = next.bytes
    leastRenewed = min(leastRenewed, next.bytes.count)
    next.bytes = []
    renewals += 1
    return 0
  }

  private func abandon() {
    next.bytes = []
    abandoned += 1
  }
}

/// Births, deaths, kept memory, moves, retains, tasks and marks, of both threads; the same ones for the same seed.
struct Program {
  var generator: SplitMix
  var living: [UInt64] = []
  var free: [UInt64]
  var stamp: Int64 = 1000
  var steps = 0
  let most: Int

  init(seed: UInt64, most: Int) {
    generator = SplitMix(seed: seed)
    self.most = most
    free = (1...2 * most).map { UInt64($0) * 0x100 }
  }

  mutating func begin(_ recording: Recording) {
    for id in UInt32(1)...6 {
      XCTAssertTrue(fake_type(recording.fake, 0, id, 1, id > 3 ? id - 3 : 0, "App.T\(id)"))
    }
    for id in UInt32(2)..<60 {
      XCTAssertTrue(fake_node(recording.fake, 0, id, id < 8 ? 0 : id - 6, 0x4000 + UInt64(id), 0, 0))
    }
  }

  mutating func random(_ limit: Int) -> Int { Int(generator.next() % UInt64(limit)) }

  mutating func step(_ recording: Recording) {
    stamp += 2000
    steps += 1
    let ring = UInt32(random(2))
    switch random(12) {
    case 0..<6 where living.count < most:
      let address = free.remove(at: random(free.count))
      recording.birth(
        stamp, address, type: UInt32(1 + random(6)), stack: UInt32(2 + random(58)), size: UInt64(8 + random(9) * 8),
        ring: ring)
      living.append(address)
    case 6 where !living.isEmpty:
      let from = living.remove(at: random(living.count))
      let to = random(2) == 0 ? from : free.removeLast()
      recording.event(LIFESPAN_R_MOVING, stamp, from, ring: ring)
      XCTAssertTrue(fake_moved(recording.fake, ring, stamp + 1, from, to, UInt64(random(99))))
      if to != from { free.append(from) }
      living.append(to)
    case 7 where !living.isEmpty && random(20) == 0:
      recording.event(LIFESPAN_R_DEINIT, stamp, living[random(living.count)], ring: ring)
    case 8 where !living.isEmpty:
      XCTAssertTrue(
        fake_refcount(
          recording.fake, ring, LIFESPAN_R_RETAIN.rawValue, stamp, living[random(living.count)], 1,
          UInt32(2 + random(58)), 0, 1))
    case 9 where random(30) == 0:
      XCTAssertTrue(fake_task(recording.fake, ring, stamp, UInt64(steps), UInt64(random(steps))))
    default:
      guard !living.isEmpty else { break }
      let address = living.remove(at: random(living.count))
      recording.event(random(4) == 0 ? LIFESPAN_R_FREE : LIFESPAN_R_DEATH, stamp, address, ring: ring)
      free.append(address)
    }
    if steps % 700 == 100 { XCTAssertTrue(fake_mark(recording.fake, 0, stamp + 10, "m\(steps)")) }
    if steps % 70 == 0 { recording.round() }
  }
}
