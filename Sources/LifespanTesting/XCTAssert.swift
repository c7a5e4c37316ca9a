// The assertions by the names that an XCTestCase expects. They are the same ones: each reports to the framework whose test runs.
import Lifespan

/// As ``expectLiveCount(of:_:isolation:fileID:filePath:line:column:_:)``.
@_disfavoredOverload
public func XCTAssertLiveCount<Failure: Error>(
  of type: any AnyObject.Type, _ expected: Int, isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
  _ body: () async throws(Failure) -> Void
) async throws(Failure) {
  let check = LiveCountCheck(
    title: "XCTAssertLiveCount(of: \(Names.of(type)), \(expected))", types: .type(type), expected: expected,
    site: CallSite(fileID: fileID, filePath: file, line: line, column: 1))
  try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
public func XCTAssertLiveCount<Failure: Error>(
  of type: any AnyObject.Type, _ expected: Int,
  fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
  _ body: () throws(Failure) -> Void
) throws(Failure) {
  let check = LiveCountCheck(
    title: "XCTAssertLiveCount(of: \(Names.of(type)), \(expected))", types: .type(type), expected: expected,
    site: CallSite(fileID: fileID, filePath: file, line: line, column: 1))
  try check.run(body)
}

/// As ``expectReleased(within:isolation:fileID:filePath:line:column:_:)``.
@_disfavoredOverload
public func XCTAssertReleased<Object: AnyObject, Failure: Error>(
  within: Duration = .seconds(1), isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
  _ body: () async throws(Failure) -> Object?
) async throws(Failure) {
  let check = ReleasedCheck(
    title: "XCTAssertReleased", within: within, site: CallSite(fileID: fileID, filePath: file, line: line, column: 1))
  try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
public func XCTAssertReleased<Object: AnyObject, Failure: Error>(
  within: Duration = .seconds(1),
  fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
  _ body: () throws(Failure) -> Object?
) throws(Failure) {
  let check = ReleasedCheck(
    title: "XCTAssertReleased", within: within, site: CallSite(fileID: fileID, filePath: file, line: line, column: 1))
  try check.run(body)
}

/// As ``expectNoGrowth(of:warmUp:iterations:isolation:fileID:filePath:line:column:_:)``.
@_disfavoredOverload
public func XCTAssertNoGrowth<Failure: Error>(
  of types: Allocations.Types, warmUp: Int = 2, iterations: Int = 5, isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
  _ body: () async throws(Failure) -> Void
) async throws(Failure) {
  let check = GrowthCheck(
    title: "XCTAssertNoGrowth(of: \(types))", types: types, warmUp: warmUp, iterations: max(1, iterations),
    site: CallSite(fileID: fileID, filePath: file, line: line, column: 1))
  try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
public func XCTAssertNoGrowth<Failure: Error>(
  of types: Allocations.Types, warmUp: Int = 2, iterations: Int = 5,
  fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
  _ body: () throws(Failure) -> Void
) throws(Failure) {
  let check = GrowthCheck(
    title: "XCTAssertNoGrowth(of: \(types))", types: types, warmUp: warmUp, iterations: max(1, iterations),
    site: CallSite(fileID: fileID, filePath: file, line: line, column: 1))
  try check.run(body)
}

/// As ``expectNoLeaks(of:isolation:fileID:filePath:line:column:_:)``.
@_disfavoredOverload
public func XCTAssertNoLeaks<Failure: Error>(
  of types: Allocations.Types = .all, isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
  _ body: () async throws(Failure) -> Void
) async throws(Failure) {
  let check = NoLeaksCheck(
    "XCTAssertNoLeaks", of: types, at: CallSite(fileID: fileID, filePath: file, line: line, column: 1))
  try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
public func XCTAssertNoLeaks<Failure: Error>(
  of types: Allocations.Types = .all,
  fileID: StaticString = #fileID, file: StaticString = #filePath, line: UInt = #line,
  _ body: () throws(Failure) -> Void
) throws(Failure) {
  let check = NoLeaksCheck(
    "XCTAssertNoLeaks", of: types, at: CallSite(fileID: fileID, filePath: file, line: line, column: 1))
  try check.run(body)
}
