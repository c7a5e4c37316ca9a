// The self-check of one process: at quiet moments every living object's recorded reference count against the runtime's own. Asked by
// RecordSession between other work, on the thread that traces.

import CDrain
import CSession
import Glibc
import LifespanTrace

/// A count that is not the runtime's.
struct CountDifference: Hashable {
  let serial: UInt64
  let address: UInt64
  let recorded: Int64
  /// −1: its memory could not be read.
  let actual: Int64
  let type: UInt32
  let stack: UInt32
}

/// What the moments of one recording came to.
struct RefcountFindings {
  /// Moments at which all counts were compared.
  var moments = 0
  /// Comparisons of all moments, and those that were equal.
  var checked: UInt64 = 0
  var exact: UInt64 = 0
  /// Of the last moment: objects that are not counted.
  var uncounted: UInt64 = 0
  /// The last moment was the program's end.
  var sawEnd = false
  /// Each once, as it was first found.
  var differences: [CountDifference] = []
  /// Why no moment could be looked at; nil: at least one was.
  var obstacle: String?
}

/// Looks at one process now and then.
final class RefcountVerifier {
  private let pid: Int32
  private let pause: UInt64
  private var nextAt: UInt64 = 0
  private(set) var findings = RefcountFindings()
  private var known: Set<UInt64> = []
  private var code = ProcessCode()
  private var stretches: [session_code] = []

  private static let settlingRounds = 3
  private static let mostRounds = 256
  /// A difference is one when it is still there a moment later.
  private static let looks = 3

  init(pid: Int32, milliseconds: Int32) {
    self.pid = pid
    pause = UInt64(max(1, milliseconds)) * 1_000_000
  }

  /// Whether it is time, with what takes long done: while it reads symbols the drain must go on.
  func isDue(_ drain: OpaquePointer) -> Bool {
    guard lifespan_drain_verify_wanted(drain) || Self.now() >= nextAt else { return false }
    stretches = code.refcounting(of: pid)
    return true
  }

  /// With the drain to itself. `isEnding`: the program ends by itself.
  func look(_ drain: OpaquePointer, isEnding: Bool) {
    let isWanted = lifespan_drain_verify_wanted(drain)
    let now = Self.now()
    let worked = moment(drain)
    if isWanted {
      if worked, isEnding { findings.sawEnd = true }
      lifespan_drain_verify_done(drain)
    }
    // A large heap is not looked at all the time.
    let cost = Self.now() - now
    nextAt = now + max(pause, 2 * cost)
  }

  private func moment(_ drain: OpaquePointer) -> Bool {
    guard var (check, differences) = compare(drain) else { return false }
    for _ in 1..<Self.looks where !differences.isEmpty {
      usleep(1000)
      guard let again = compare(drain) else { break }
      let still = Set(differences).intersection(again.differences)
      differences = differences.filter(still.contains)
      check = again.check
    }
    findings.moments += 1
    findings.obstacle = nil
    findings.checked += check.checked
    findings.exact += check.checked - UInt64(differences.count)
    findings.uncounted = check.uncounted
    for difference in differences where known.insert(difference.serial).inserted {
      findings.differences.append(difference)
    }
    return true
  }

  /// Stops the program for one comparison; nil where that can't be done.
  private func compare(_ drain: OpaquePointer) -> (check: lifespan_count_check, differences: [CountDifference])? {
    stretches.withUnsafeBufferPointer { code in
      var stopped: OpaquePointer?
      let error = session_stop(
        pid, code.baseAddress, code.count, Self.drainOn, UnsafeMutableRawPointer(drain), &stopped)
      guard error == 0, let stopped else {
        if findings.moments == 0, error != -ESRCH {
          findings.obstacle = "its threads cannot be stopped: \(SystemError.text(-error))"
        }
        return nil
      }
      defer { session_go_on(stopped) }
      settle(drain)
      var found = DifferenceList()
      var check = lifespan_count_check()
      let result = withUnsafeMutablePointer(to: &found) { found in
        lifespan_drain_verify(
          drain, session_read_words, UnsafeMutableRawPointer(stopped), DifferenceList.add,
          UnsafeMutableRawPointer(found), &check)
      }
      return result == 0 ? (check, found.differences) : nil
    }
  }

  /// The drain goes on while threads are being stopped: one that waits for room in its ring would give up after a second.
  private static let drainOn: @convention(c) (UnsafeMutableRawPointer?) -> Void = { drain in
    if let drain { _ = lifespan_drain_round(OpaquePointer(drain)) }
  }

  /// Everything that was published is drained, and what waited for its place has one.
  private func settle(_ drain: OpaquePointer) {
    var quiet = 0
    for _ in 0..<Self.mostRounds where quiet < Self.settlingRounds {
      quiet = lifespan_drain_round(drain) == 0 ? quiet + 1 : 0
    }
  }

  private static func now() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// Takes differences as the drain finds them.
private struct DifferenceList {
  var differences: [CountDifference] = []

  static let add: @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<lifespan_count_difference>?) -> Void = {
    context, found in
    guard let context, let found = found?.pointee else { return }
    context.assumingMemoryBound(to: DifferenceList.self).pointee.differences.append(
      CountDifference(
        serial: found.serial, address: found.address, recorded: found.recorded, actual: found.actual,
        type: found.type, stack: found.stack))
  }
}
