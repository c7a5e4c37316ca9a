// What all tests of the library share: the one recording that a process can have, and types to count. A type is used by
// one test alone, so that the tests may come in any order.
import Lifespan
import XCTest

func startRecording() throws {
  try Allocations.start(recording: .swiftObjects, RecordedTestCase.rules)
}

/// A test in a recorded process: all Swift objects, without those of types called …Cache.
class RecordedTestCase: XCTestCase {
  static let rules: [Allocations.Rule] = [.ignore("LifespanTests.*Cache")]

  override func setUpWithError() throws { try startRecording() }

  /// Counts of a type by its name in statistics of everything.
  func row(_ type: String) throws -> Allocations.StatisticsRow? {
    try Allocations.statistics(.all).first { $0.type == type }
  }

  func reason<Value>(_ body: () throws(Allocations.NotRecording) -> Value) -> Allocations.NotRecording.Reason? {
    do {
      _ = try body()
      return nil
    } catch {
      return error.reason
    }
  }
}

/// Makes an object that the optimiser can't put on the stack.
@inline(never) func made<Object: AnyObject>(_ make: () -> Object) -> Object { make() }
