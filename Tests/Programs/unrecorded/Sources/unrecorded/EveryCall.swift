// Every call of the library. Compiled twice: into LifespanTests, where the package records, and here, where it is built without that.
import Lifespan

final class Watched: ManagedLifetime {
  var value = 1
  let token = Allocations.Token("one")
  var objectsExpectedToDieWithThis: [AnyObject] { [token] }
}
final class Followed: TrackedObject {}
actor Account: Tracked { var balance = 0 }

/// - Returns: how many calls did what they do where nothing is recorded.
@discardableResult
func callEverything() async -> Int {
  var calls = 0
  func unrecorded(_ body: () throws -> Void) {
    do {
      try body()
    } catch {
      if "\(error)".contains("without the package trait Recording") { calls += 1 }
    }
  }
  Allocations.track(Watched.self)
  if case .partial(let reason)? = try? Allocations.start(recording: [.record("*"), .ignore("*Cache")]),
    reason.contains("without the package trait Recording")
  {
    calls += 1
  }
  let mark = Allocations.markGeneration("begun")
  let object = Watched()
  Allocations.expectedToLive(Followed.self, reason: "a test")
  Allocations.expectedToLive(object, reason: "a test")
  Allocations.expectedToLive(matching: "*.Watched", reason: "a test")
  Allocations.handleFindings(.log)
  Allocations.handleFindings(.log, lookingForHolders: true)
  Allocations.maxLiveCount(of: Watched.self, 1_000)
  Allocations.maxLiveCount(of: .module("unrecorded").except("*Cache", reason: "a cache"), 1_000)
  Allocations.expectRelease(of: object, within: .seconds(3_600), reason: "a test")
  let sum = Allocations.withScope("sum", of: .all, expectReleasedWithin: .seconds(3_600)) { 1 + 1 }
  let other = await Allocations.withScope("task", of: .all, expectReleasedWithin: .seconds(3_600)) {
    await Task { 2 }.value
  }
  if sum + other == 4 { calls += 1 }
  if Allocations.roundTrip({ _ = Watched() }).missing?.reason == .builtWithout { calls += 1 }
  if await Allocations.roundTrip({ await Task.yield() }).missing?.reason == .builtWithout { calls += 1 }
  unrecorded { _ = try Allocations.liveCount(of: Watched.self) }
  unrecorded { _ = try Allocations.liveCount(ofToken: "one") }
  unrecorded { _ = try Allocations.statistics(.all) }
  unrecorded { _ = try Allocations.growth(since: mark) }
  unrecorded { try Allocations.save(to: "/nowhere/run.lifespan") }
  unrecorded { _ = try Allocations.leaks() }
  unrecorded { _ = try Allocations.holders(of: object) }
  if Allocations.history(of: object).missing?.reason == .builtWithout { calls += 1 }
  if Allocations.capture == nil, !mark.isRecorded, Allocations.survivorsExpectedToLive.isEmpty { calls += 1 }
  if Allocations.ReturnAddress(rawValue: 1).symbol() == nil, object.token.name == "one" { calls += 1 }
  Allocations.stop()
  return calls
}
