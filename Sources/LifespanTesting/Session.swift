// The recording of a test process: started when this module is loaded, before the first test. Asked by every assertion.
internal import CLifespanTesting
internal import Foundation
import Lifespan

/// What the environment says, and whether anything is recorded.
enum Session {
  /// Why nothing is recorded; nil: the recording was started.
  nonisolated(unsafe) private static var failure: String?
  nonisolated(unsafe) private static var capture: Allocations.Capture?

  static let environment = ProcessInfo.processInfo.environment
  /// Whether an assertion fails where nothing is recorded.
  static let isRequired = environment["LIFESPAN_REQUIRED"] != "0"
  /// How long an assertion waits for objects that are about to die on other threads, in seconds.
  static let settling = Double(environment["LIFESPAN_SETTLE"] ?? "").map { max(0, $0) } ?? 5
  /// Retains of all types are recorded, or those of `Tracked` types alone.
  static let countsReferences = environment["LIFESPAN_REFCOUNTS"] != "0"

  static func start() {
    do {
      capture = try Allocations.start(recording: .swiftObjects, referenceCounts: countsReferences)
    } catch {
      failure = "\(error)"
    }
    #if Recording
    Allocations.watchesInTests()
    #endif
    Frameworks.observe()
  }

  /// Throws why a number would not be true.
  static func checkRecording(of types: Allocations.Types) throws(Unrecorded) {
    if let failure { throw Unrecorded(failure) }
    switch Allocations.capture ?? capture {
    case nil: throw Unrecorded("nothing is recorded in this process")
    case .complete: break
    case .some(let capture): throw Unrecorded("not everything is recorded here (\(capture))")
    }
    #if Recording
    do {
      try types.checkRecorded()
    } catch {
      throw Unrecorded("\(error)")
    }
    #endif
  }
}

/// Why there is nothing to assert.
struct Unrecorded: Error {
  let reason: String
  init(_ reason: String) { self.reason = reason }
}

/// Called by the module's C part before main.
@_cdecl("lifespan_testing_loaded") public func lifespanTestingLoaded() { Session.start() }
