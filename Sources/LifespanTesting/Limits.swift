// What an assertion does not count: survivors that are known, each with its reason. Asked by every assertion.
import Lifespan

/// Runs a body in which objects of these types may stay: assertions inside do not count them, and name them with the reason.
///
/// ```swift
/// try await withKnownSurvivors(of: .type(ConnectionPool.self), reason: "closed by the server, #412") {
///   try await expectNoLeaks { try await roundTrip() }
/// }
/// ```
///
/// For the tasks that the body makes, too; not for detached ones and other threads.
public func withKnownSurvivors<Value, Failure: Error>(
  of types: Allocations.Types, reason: String, isolation: isolated (any Actor)? = #isolation,
  _ body: () async throws(Failure) -> Value
) async throws(Failure) -> Value {
  let known = Known.here + [Known(types: types, reason: reason)]
  let result: Result<Value, Failure> = await Known.$here.withValue(known) {
    do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
  }
  return try result.get()
}

/// Runs a synchronous body in which objects of these types may stay.
public func withKnownSurvivors<Value, Failure: Error>(
  of types: Allocations.Types, reason: String, _ body: () throws(Failure) -> Value
) throws(Failure) -> Value {
  let known = Known.here + [Known(types: types, reason: reason)]
  let result: Result<Value, Failure> = Known.$here.withValue(known) {
    do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
  }
  return try result.get()
}

/// Objects of these types may stay, in all tests of this process.
public func suppressSurvivors(of types: Allocations.Types, reason: String) {
  Known.everywhere.add(Known(types: types, reason: reason))
}

struct Known: Sendable {
  @TaskLocal static var here: [Known] = []
  static let everywhere = KnownList()

  let types: Allocations.Types
  let reason: String

  static var all: [Known] { everywhere.all + here }
}
