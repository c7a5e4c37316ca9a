// The assertions, each for a synchronous and an asynchronous body. Under Swift Testing and XCTest alike: a failure goes to the framework
// whose test runs.
//
// In an asynchronous function the synchronous form is taken where the body does not wait.
import Lifespan

/// Fails unless exactly so many objects of a class, with its subclasses, that the body makes live at its end.
///
/// ```swift
/// try await expectLiveCount(of: Session.self, 0) { try await login(); try await logout() }
/// ```
///
/// The body's are the objects born in its task and the tasks below it; outside of tasks, on its thread. What other threads make meanwhile is
/// named in a failure and not counted. Objects that are about to die on other threads are waited for, five seconds at most
/// (`LIFESPAN_SETTLE`).
///
/// - Throws: what the body throws; then nothing is asserted.
@_disfavoredOverload
public func expectLiveCount<Failure: Error>(
  of type: any AnyObject.Type, _ expected: Int, isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () async throws(Failure) -> Void
) async throws(Failure) {
  let check = LiveCountCheck(
    title: "expectLiveCount(of: \(Names.of(type)), \(expected))", types: .type(type), expected: expected,
    site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
public func expectLiveCount<Failure: Error>(
  of type: any AnyObject.Type, _ expected: Int,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () throws(Failure) -> Void
) throws(Failure) {
  let check = LiveCountCheck(
    title: "expectLiveCount(of: \(Names.of(type)), \(expected))", types: .type(type), expected: expected,
    site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  try check.run(body)
}

/// Fails unless the object that the body returns is released within a time after it.
///
/// ```swift
/// await expectReleased(within: .seconds(1)) { let page = Page(); page.open(); return page }
/// ```
@_disfavoredOverload
public func expectReleased<Object: AnyObject, Failure: Error>(
  within: Duration = .seconds(1), isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () async throws(Failure) -> Object?
) async throws(Failure) {
  let check = ReleasedCheck(
    title: "expectReleased", within: within,
    site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
public func expectReleased<Object: AnyObject, Failure: Error>(
  within: Duration = .seconds(1),
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () throws(Failure) -> Object?
) throws(Failure) {
  let check = ReleasedCheck(
    title: "expectReleased", within: within,
    site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  try check.run(body)
}

/// Runs the body again and again, and fails where objects of a type are left by every iteration and more and more of them live.
///
/// ```swift
/// try await expectNoGrowth(of: .module("MyApp"), warmUp: 2, iterations: 5) { try await roundTrip() }
/// ```
///
/// What is left by some iterations only (a buffer that doubles), or replaces what was there (a cache that is full), does not grow. The
/// first `warmUp` iterations are not looked at: what is made once is made there. All of the `iterations` after them must leave something.
@_disfavoredOverload
public func expectNoGrowth<Failure: Error>(
  of types: Allocations.Types, warmUp: Int = 2, iterations: Int = 5, isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () async throws(Failure) -> Void
) async throws(Failure) {
  let check = GrowthCheck(
    title: "expectNoGrowth(of: \(types))", types: types, warmUp: warmUp, iterations: max(1, iterations),
    site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
public func expectNoGrowth<Failure: Error>(
  of types: Allocations.Types, warmUp: Int = 2, iterations: Int = 5,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () throws(Failure) -> Void
) throws(Failure) {
  let check = GrowthCheck(
    title: "expectNoGrowth(of: \(types))", types: types, warmUp: warmUp, iterations: max(1, iterations),
    site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  try check.run(body)
}

/// Fails where the body allocates more objects of a class, with its subclasses, than that, whether they live or not.
@discardableResult @_disfavoredOverload
public func expectAllocations<Value, Failure: Error>(
  atMost limit: Int, of type: any AnyObject.Type, isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () async throws(Failure) -> Value
) async throws(Failure) -> Value {
  let check = TallyCheck(
    title: "expectAllocations(atMost: \(limit), of: \(Names.of(type)))", types: .type(type), counted: .allocations,
    limit: limit, site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  return try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
@discardableResult
public func expectAllocations<Value, Failure: Error>(
  atMost limit: Int, of type: any AnyObject.Type,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () throws(Failure) -> Value
) throws(Failure) -> Value {
  let check = TallyCheck(
    title: "expectAllocations(atMost: \(limit), of: \(Names.of(type)))", types: .type(type), counted: .allocations,
    limit: limit, site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  return try check.run(body)
}

/// Fails where more strong references are taken in the body than that, to objects of the chosen types.
@discardableResult @_disfavoredOverload
public func expectRetains<Value, Failure: Error>(
  atMost limit: Int, of types: Allocations.Types = .all, isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () async throws(Failure) -> Value
) async throws(Failure) -> Value {
  let check = TallyCheck(
    title: "expectRetains(atMost: \(limit), of: \(types))", types: types, counted: .retains, limit: limit,
    site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  return try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
@discardableResult
public func expectRetains<Value, Failure: Error>(
  atMost limit: Int, of types: Allocations.Types = .all,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () throws(Failure) -> Value
) throws(Failure) -> Value {
  let check = TallyCheck(
    title: "expectRetains(atMost: \(limit), of: \(types))", types: types, counted: .retains, limit: limit,
    site: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  return try check.run(body)
}

/// Fails where objects that the body makes are leaked: nothing can reach them any more.
///
/// ```swift
/// try await expectNoLeaks { try await login(); try await logout() }
/// ```
///
/// What something still holds (a cache, a singleton) is not leaked, see ``expectLiveCount(of:_:isolation:fileID:filePath:line:column:_:)``.
/// A failure is sure; some leaks may be missed, as of an object of which an address lies in memory that the recorder does not know
/// (`Allocations.leaks()` says more). Where the heap can't be looked at, the assertion fails with the reason.
///
/// Cost: nothing where no object of the body lives at its end; else all threads of the process stand still while it is copied, up to five
/// times.
@_disfavoredOverload
public func expectNoLeaks<Failure: Error>(
  of types: Allocations.Types = .all, isolation: isolated (any Actor)? = #isolation,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () async throws(Failure) -> Void
) async throws(Failure) {
  let check = NoLeaksCheck(
    "expectNoLeaks", of: types, at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  try await check.run(isolation: isolation, body)
}

/// As the asynchronous form, for a body that does not wait.
public func expectNoLeaks<Failure: Error>(
  of types: Allocations.Types = .all,
  fileID: StaticString = #fileID, filePath: StaticString = #filePath, line: UInt = #line, column: UInt = #column,
  _ body: () throws(Failure) -> Void
) throws(Failure) {
  let check = NoLeaksCheck(
    "expectNoLeaks", of: types, at: CallSite(fileID: fileID, filePath: filePath, line: line, column: column))
  try check.run(body)
}
