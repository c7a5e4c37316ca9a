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

/// Fails a test where objects that it makes are leaked. Made by `.noLeaks`.
public struct NoLeaksTrait: TestTrait, SuiteTrait, TestScoping {
  let types: Allocations.Types

  /// All tests of a suite, and of those within.
  public var isRecursive: Bool { true }

  /// Runs the test, and looks then.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let site = CallSite(fileID: #fileID, filePath: #filePath, line: #line, column: #column, source: test.sourceLocation)
    try await NoLeaksCheck("noLeaks", of: types, at: site).run(isolation: nil) { try await function() }
  }
}

extension Trait where Self == NoLeaksTrait {
  /// The test, or each test of the suite, as the body of
  /// ``expectNoLeaks(of:isolation:fileID:filePath:line:column:_:)``.
  public static var noLeaks: Self { NoLeaksTrait(types: .all) }

  /// The same for leaked objects of these types.
  public static func noLeaks(of types: Allocations.Types) -> Self { NoLeaksTrait(types: types) }
}

private final class IssueFlag: @unchecked Sendable {
  private let lock = NSLock()
  private var raised = false

  var isRaised: Bool { lock.withLock { raised } }
  func raise() { lock.withLock { raised = true } }
}
