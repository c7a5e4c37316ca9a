// A fake mapping, a drain over it, and the trace that comes out: what every test of CDrain uses.
import CDrain
import CDrainTestSupport
import CTraceFormat
import LifespanTrace
import XCTest

/// Takes what the drain writes.
final class Sunk {
  var bytes: [UInt8] = []
  var calls = 0
  var error: Int32 = 0

  var pointer: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  static let take: lifespan_sink = { context, bytes, length in
    guard let context, let bytes else { return EINVAL }
    let sunk = Unmanaged<Sunk>.fromOpaque(context).takeUnretainedValue()
    sunk.calls += 1
    if sunk.error != 0 { return sunk.error }
    sunk.bytes.append(contentsOf: UnsafeRawBufferPointer(start: bytes, count: length))
    return 0
  }
}

/// A recording of a program that isn't there.
final class Recording {
  let fake: OpaquePointer
  let drain: OpaquePointer
  let sunk = Sunk()

  init(
    rings: UInt32 = 1, log2: UInt32 = 12, history: UInt32 = 0, sink: Bool = true, file: Bool = false,
    unit: UInt32 = 1, threadCheck: Bool = false, samples: Bool = false,
    next: ((inout lifespan_drain_options) -> Void)? = nil
  ) throws {
    fake = try XCTUnwrap(fake_create(rings, log2, file))
    var options = lifespan_drain_options()
    options.map = fake_mapping(fake)
    options.file = fake_file(fake)
    if sink { options.sink = Sunk.take }
    options.sink_context = sunk.pointer
    options.ticks_per_unit = unit
    options.history_events = history
    options.process_tid_check = threadCheck ? 1 : 0
    options.sample_pid = samples ? UInt32(getpid()) : 0
    next?(&options)
    drain = try XCTUnwrap(lifespan_drain_create(&options))
  }

  deinit {
    lifespan_drain_destroy(drain)
    fake_destroy(fake)
  }

  @discardableResult
  func round() -> Int64 { lifespan_drain_round(drain) }

  var counts: lifespan_drain_counts {
    var counts = lifespan_drain_counts()
    lifespan_drain_counts(drain, &counts)
    return counts
  }

  func birth(
    _ stamp: Int64, _ address: UInt64, type: UInt32 = 1, stack: UInt32 = 0, size: UInt64 = 32, ring: UInt32 = 0
  ) { XCTAssertTrue(fake_birth(fake, ring, stamp, address, type, stack, size), "full") }

  func event(_ kind: lifespan_record_kind, _ stamp: Int64, _ value: UInt64, ring: UInt32 = 0) {
    XCTAssertTrue(fake_event(fake, ring, kind.rawValue, stamp, value), "full")
  }

  func death(_ stamp: Int64, _ address: UInt64, ring: UInt32 = 0) {
    event(LIFESPAN_R_DEATH, stamp, address, ring: ring)
  }

  func retain(_ stamp: Int64, _ address: UInt64, before: UInt64 = 1, ring: UInt32 = 0) {
    XCTAssertTrue(fake_refcount(fake, ring, LIFESPAN_R_RETAIN.rawValue, stamp, address, 1, 0, 0, before), "full")
  }

  func release(_ stamp: Int64, _ address: UInt64, before: UInt64 = 1, ring: UInt32 = 0) {
    XCTAssertTrue(fake_refcount(fake, ring, LIFESPAN_R_RELEASE.rawValue, stamp, address, 1, 0, 0, before), "full")
  }

  func type(_ id: UInt32 = 1, _ name: String = "App.Node", ring: UInt32 = 0) {
    XCTAssertTrue(fake_type(fake, ring, id, LIFESPAN_KIND_CLASS.rawValue, 0, name), "full")
  }

  /// Ends the recording and reads its trace.
  func finished() throws -> Trace {
    XCTAssertEqual(lifespan_drain_finish(drain, true, 0), 0)
    return try read(sunk.bytes)
  }

  /// What `save` writes.
  func saved() throws -> Trace {
    let target = Sunk()
    XCTAssertEqual(lifespan_drain_save(drain, Sunk.take, target.pointer), 0)
    return try read(target.bytes)
  }

  func read(_ bytes: [UInt8]) throws -> Trace {
    let trace = try Trace(TraceMemory(bytes))
    XCTAssertEqual(trace.ending.reason, .whole, trace.ending.sentence)
    return trace
  }

  /// Asks, and goes on asking as long as there is more. `starts` says how many answers a piece holds.
  func ask(
    _ op: lifespan_question_op, address: UInt64 = 0, generation: UInt32 = 0, room: Int = 4096,
    starts: (UnsafeRawBufferPointer) -> Int = { _ in 0 }
  ) -> (pieces: [[UInt8]], error: Int64) {
    var question = lifespan_question(address: address, generation: generation, start: 0)
    var pieces: [[UInt8]] = []
    while true {
      var more = false
      let answer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(room, 8), alignment: 8)
      defer { answer.deallocate() }
      let length = lifespan_drain_ask(
        drain, op.rawValue, &question, MemoryLayout.size(ofValue: question), answer.baseAddress, room, &more)
      if length < 0 { return (pieces, length) }
      let piece = UnsafeRawBufferPointer(rebasing: answer[..<Int(length)])
      pieces.append(Array(piece))
      question.start += UInt32(starts(piece))
      if !more { return (pieces, 0) }
    }
  }

  /// Rows of ROWS by type.
  func rows(since generation: UInt32 = 0, room: Int = 4096) -> [UInt32: lifespan_row] {
    let answer = ask(LIFESPAN_ASK_ROWS, generation: generation, room: room) {
      $0.bindMemory(to: lifespan_row.self).count
    }
    XCTAssertEqual(answer.error, 0)
    var rows: [UInt32: lifespan_row] = [:]
    for piece in answer.pieces {
      piece.withUnsafeBytes { for row in $0.bindMemory(to: lifespan_row.self) { rows[row.type] = row } }
    }
    return rows
  }
}

/// Living and total of one type, in the words of tests.
struct Tally: Equatable {
  var living: Int64 = 0
  var livingBytes: Int64 = 0
  var total: Int64 = 0
  var totalBytes: Int64 = 0

  init(_ living: Int64, _ livingBytes: Int64, _ total: Int64, _ totalBytes: Int64) {
    self.living = living
    self.livingBytes = livingBytes
    self.total = total
    self.totalBytes = totalBytes
  }

  init(_ row: lifespan_row?) {
    let row = row ?? lifespan_row()
    self.init(Int64(row.living_count), Int64(row.living_bytes), Int64(row.total_count), Int64(row.total_bytes))
  }
}

extension Trace {
  /// All events as values.
  func allEvents(ending expected: TraceEnding.Reason = .whole) throws -> [TraceEvent] {
    var events: [TraceEvent] = []
    try forEachBatch(.all) { batch in for index in 0..<batch.count { events.append(batch.event(index)) } }
    XCTAssertEqual(ending.reason, expected, ending.sentence)
    return events
  }

  /// Counts the trace as a reader does: by type, or by type and generation, from the events and the totals.
  func tallies(since least: UInt32 = 0, ending: TraceEnding.Reason = .whole) throws -> [UInt32: Tally] {
    struct Life {
      var type: UInt32
      var size: Int64
      var counts = true
      var kept = true
    }
    var tallies: [UInt32: Tally] = [:]
    var lives: [UInt64: Life] = [:]
    for event in try allEvents(ending: ending) {
      guard let serial = event.serial?.rawValue else { continue }
      if event.kind == .birth {
        let site = sites[Int(try XCTUnwrap(event.site).rawValue)]
        guard try XCTUnwrap(event.generation).rawValue >= least else { continue }
        let life = Life(type: site.type.rawValue, size: Int64(site.size.rawValue))
        lives[serial] = life
        tallies[life.type, default: Tally(nil)].total += 1
        tallies[life.type, default: Tally(nil)].totalBytes += life.size
        continue
      }
      guard var life = lives[serial] else { continue }
      switch event.kind {
      case .death, .plainFree, .endNotSeen: (life.counts, life.kept) = (false, false)
      case .deinitEnded: life.counts = false
      case .free: life.kept = false
      case .moved:
        let site = sites[Int(try XCTUnwrap(event.site).rawValue)]
        tallies[life.type, default: Tally(nil)].total -= 1
        tallies[life.type, default: Tally(nil)].totalBytes -= life.size
        life.type = site.type.rawValue
        life.size = Int64(site.size.rawValue)
        tallies[life.type, default: Tally(nil)].total += 1
        tallies[life.type, default: Tally(nil)].totalBytes += life.size
      default: break
      }
      lives[serial] = life
    }
    for life in lives.values {
      if life.counts { tallies[life.type, default: Tally(nil)].living += 1 }
      if life.kept { tallies[life.type, default: Tally(nil)].livingBytes += life.size }
    }
    for total in totals where total.generation.rawValue >= least {
      tallies[total.type.rawValue, default: Tally(nil)].total += Int64(total.births)
      tallies[total.type.rawValue, default: Tally(nil)].totalBytes += Int64(total.bytes)
    }
    return tallies
  }
}

/// An event in few words: kind, serial.
func words(_ events: [TraceEvent]) -> [String] {
  let names: [EventKind: String] = [
    .birth: "birth", .death: "death", .deinitEnded: "deinit", .free: "free", .plainFree: "plain free",
    .retain: "retain",
    .release: "release", .deinitBegins: "deinit begins", .moved: "moved", .endNotSeen: "end not seen",
    .misuse: "misuse",
  ]
  return events.map { "\(names[$0.kind] ?? "?") \($0.serial.map { String($0.rawValue) } ?? "-")" }
}
