// The pictures of one recording's heap: at the program's end, at marks, on request. Asked by RecordSession between other work, on the thread that
// traces; what takes long is done by HeapPictureWork on a thread of its own, while this one goes on serving.

import CDrain
import CHeap
import CSession
import Glibc
import LifespanTrace

/// Takes pictures of one process's heap, one at a time.
final class HeapPictures {
  private let pid: Int32
  /// What the recorder does not record, so that a block may be there that it does not know.
  private let blindness: [String]
  private let fillsWithZeros: Bool
  private var code = ProcessCode()
  private var stretches: [session_code] = []
  private var wishes: [HeapGraph.Point] = []
  private var current: HeapPictureWork?
  /// Pictures begun so far, and those of them that are done.
  private(set) var begun: UInt32 = 0
  private(set) var done: UInt32 = 0
  /// The program itself has asked for an answer from its heap.
  var isAskedFor = false
  /// Why the last one could not be taken; nil: it could.
  private(set) var obstacle: String?
  /// The program's end was seen.
  private(set) var sawEnd = false

  /// Why there is none of the program's end; nil: there is one.
  var missing: String? {
    if let obstacle { return obstacle }
    return sawEnd ? nil : "the program did not end by exit"
  }

  init(pid: Int32, options: RecordOptions) {
    self.pid = pid
    fillsWithZeros = options.leaks
    var blindness: [String] = []
    if options.swiftOnly { blindness.append("--swift-only leaves out blocks of malloc") }
    if !options.rules.isEmpty { blindness.append("--record and --ignore leave out types") }
    if options.paused { blindness.append("the recording began paused") }
    self.blindness = blindness
  }

  /// Wishes for a picture; the number that it will have.
  func wish(_ point: HeapGraph.Point) -> UInt32 {
    wishes.append(point)
    return begun + UInt32(wishes.count)
  }

  /// Whether there is something to do soon.
  var isBusy: Bool { current != nil || !wishes.isEmpty || isAskedFor }

  /// Whether a picture should be begun; done by the way: what takes long and needs nothing to stand still.
  func isDue(_ drain: OpaquePointer) -> Bool {
    guard current == nil else { return false }
    if lifespan_drain_picture_wanted(drain), !sawEnd, !wishes.contains(.exit) { wishes.append(.exit) }
    guard !wishes.isEmpty || isAskedFor else { return false }
    stretches = code.recording(of: pid)
    return true
  }

  /// With the drain to itself: stops the program, and lets it go on as soon as it can.
  func begin(_ drain: OpaquePointer) {
    guard !wishes.isEmpty else { return beginLook(drain) }
    let point = wishes.removeFirst()
    begun += 1
    if point == .exit { sawEnd = true }
    do throws(HeapObstacle) {
      current = try freeze(drain, point, nil)
      current?.start()
    } catch {
      give(up: drain, error.reason)
    }
  }

  /// For the program itself: an answer, and nothing in the trace.
  private func beginLook(_ drain: OpaquePointer) {
    isAskedFor = false
    var look = HeapLook()
    guard lifespan_drain_look_wanted(drain, &look.question, &look.address) else { return }
    do throws(HeapObstacle) {
      current = try freeze(drain, .request, look)
      current?.start()
    } catch {
      Self.answer(drain, EPERM, Array(error.reason.utf8))
    }
  }

  private static func answer(_ drain: OpaquePointer, _ error: Int32, _ bytes: [UInt8]) {
    bytes.withUnsafeBytes { lifespan_drain_look_done(drain, error, $0.baseAddress, $0.count) }
  }

  /// Nothing is there to be looked at; said in the trace.
  private func give(up drain: OpaquePointer, _ reason: String) {
    obstacle = reason
    lifespan_drain_info(drain, "heap.obstacle", reason)
    done = begun
    if sawEnd { lifespan_drain_picture_done(drain) }
  }

  /// Whether the picture that is being made is ready to be written.
  var isReady: Bool { current?.isDone ?? false }

  /// With the drain to itself: writes what is ready.
  func write(_ drain: OpaquePointer) {
    guard let work = current, work.isDone else { return }
    current = nil
    let result = work.join()
    work.letGo()
    if work.look != nil {
      if let failure = result.failure { return Self.answer(drain, EPERM, Array(failure.utf8)) }
      return Self.answer(drain, result.error, result.report)
    }
    var failure = result.failure
    var isFirst = true
    for (kind, bytes) in result.chunks where failure == nil {
      let error = bytes.withUnsafeBytes {
        lifespan_drain_frozen(drain, UInt32(kind.rawValue), $0.baseAddress, $0.count, isFirst)
      }
      if error != 0 {
        let reason = SystemError.text(error)
        failure = error == EFBIG ? "--max-size leaves no room for it" : "it cannot be written: \(reason)"
      }
      isFirst = false
    }
    if let failure { return give(up: drain, failure) }
    lifespan_drain_info(drain, "heap.scan.\(begun)", result.scan)
    obstacle = nil
    done = begun
    if work.point == .exit { lifespan_drain_picture_done(drain) }
  }

  /// The program is gone, or is let go without a picture.
  func abandon() {
    guard let work = current else { return }
    current = nil
    _ = work.join()
    work.letGo()
    if work.look != nil { return }
    obstacle = "the program ended while it was looked at"
    done = begun
  }

  // MARK: Standing still

  private func freeze(
    _ drain: OpaquePointer, _ point: HeapGraph.Point, _ look: HeapLook?
  ) throws(HeapObstacle) -> HeapPictureWork {
    let from = Self.now()
    var stopped: OpaquePointer?
    let error = stretches.withUnsafeBufferPointer {
      session_stop(pid, $0.baseAddress, $0.count, Self.drainOn, UnsafeMutableRawPointer(drain), &stopped)
    }
    guard error == 0, let stopped else {
      throw HeapObstacle(reason: "its threads cannot be stopped: \(SystemError.text(-error))")
    }
    Self.settle(drain)
    var source = HeapSource(pid: pid, recorded: pid, copy: session_copy(), stopped: nil)
    let threads = HeapThread.all(of: stopped, pid, drain)
    var notes: [String] = []
    var pause: UInt64?
    // At its end the program waits for us anyway, and its other threads would soon be gone: they stand still with it.
    if point == .exit {
      source.stopped = stopped
    } else {
      let result = session_copy_make(stopped, &source.copy)
      if result == 0 {
        source.pid = source.copy.pid
        session_go_on(stopped)
        pause = Self.now() - from
      } else {
        session_copy_end(pid, &source.copy)
        source.copy = session_copy()
        source.stopped = stopped
        notes.append("the program stood still for all of it, as it could not be copied: \(SystemError.text(-result))")
      }
    }
    let head = head(drain, point, notes)
    return HeapPictureWork(
      source: source, point: point, look: look, head: head.head, knowsAll: head.knowsAll,
      hasLost: head.hasLost, began: from, pause: pause,
      blocks: Self.blocks(drain), types: HeapTypes(drain), threads: threads)
  }

  private func head(
    _ drain: OpaquePointer, _ point: HeapGraph.Point, _ notes: [String]
  ) -> (head: HeapGraph.Head, knowsAll: Bool, hasLost: Bool) {
    var counts = lifespan_drain_counts()
    lifespan_drain_counts(drain, &counts)
    var unknown = blindness
    if counts.lost + counts.suppressed > 0 { unknown.append("events were lost") }
    var notes = notes
    if !unknown.isEmpty {
      let reasons = unknown.joined(separator: ", ")
      notes.append("memory that the recorder does not know counts as held, so leaks may be missed: \(reasons)")
    }
    if !fillsWithZeros {
      notes.append("recorded without --leaks, so new blocks hold what lay there before, and leaks may be missed")
    }
    let time = TraceTime(lifespan_drain_elapsed_ns(drain))
    let head = HeapGraph.Head(number: begun, time: time, point: point, notes: notes)
    return (head, unknown.isEmpty, counts.lost > 0)
  }

  private static func blocks(_ drain: OpaquePointer) -> HeapBlocks {
    let blocks = HeapBlocks(capacity: lifespan_drain_block_limit(drain))
    blocks.count = blocks.storage.withMemoryRebound(to: lifespan_block.self, capacity: blocks.capacity) {
      lifespan_drain_blocks(drain, $0, blocks.capacity)
    }
    return blocks
  }

  /// The drain goes on while threads are being stopped: one that waits for room in its ring would give up after a second.
  private static let drainOn: @convention(c) (UnsafeMutableRawPointer?) -> Void = { drain in
    if let drain { _ = lifespan_drain_round(OpaquePointer(drain)) }
  }

  private static let settlingRounds = 3
  private static let mostRounds = 256

  /// Everything that was published is drained, and what waited for its place has one.
  private static func settle(_ drain: OpaquePointer) {
    var quiet = 0
    for _ in 0..<mostRounds where quiet < settlingRounds {
      quiet = lifespan_drain_round(drain) == 0 ? quiet + 1 : 0
    }
  }

  static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// Why a heap cannot be looked at.
struct HeapObstacle: Error {
  let reason: String
}
