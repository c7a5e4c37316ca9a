// Traits for Swift Testing: a whole test as the body of an assertion.
internal import Foundation
import Lifespan
public import Testing

/// Runs a test several times and fails it where objects are left by every iteration. Made by `.noGrowth`.
public struct NoGrowthTrait: TestTrait, TestScoping {
  let types: Allocations.Types
  let warmUp: Int
  let iterations: Int
  let site: CallSite

  /// Runs the test `warmUp` and then `iterations` times, and stops at the first issue of its own.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let issues = IssueFlag()
    let check = GrowthCheck(
      title: "noGrowth(of: \(types))", types: types, warmUp: warmUp, iterations: max(1, iterations), site: site)
    // An issue without a test (a detached task's) is told to all tests that run.
    let watching = IssueHandlingTrait.compactMapIssues { issue in
      if Test.current?.id == test.id { issues.raise() }
      return issue
    }
    try await check.run(isolation: nil, goesOn: { !issues.isRaised }) {
      try await watching.provideScope(for: test, testCase: testCase, performing: function)
    }
  }
}

extension Trait where Self == NoGrowthTrait {
  /// Runs the test `warmUp` and then `iterations` times, as the body of
  /// ``expectNoGrowth(of:warmUp:iterations:isolation:fileID:filePath:line:column:_:)``. It stops at the first issue of the test's own.
  public static func noGrowth(
    of types: Allocations.Types, warmUp: Int = 2, iterations: Int = 5,
    fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column
  ) -> Self {
    NoGrowthTrait(
      types: types, warmUp: warmUp, iterations: iterations,
      site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  }
}

private final class IssueFlag: @unchecked Sendable {
  private let lock = NSLock()
  private var raised = false

  var isRaised: Bool { lock.withLock { raised } }
  func raise() { lock.withLock { raised = true } }
}
