// Examples of the documentation, as they are printed there. Written by Tools/snippets.
// swift-format-ignore-file
import Glibc
import Lifespan
import XCTest

// README.md
func snippet1() async throws {
  final class Session: TrackedObject {}             // or conform to Tracked: actors, final Sendable classes, NSObject subclasses
  try Allocations.start(recording: .tracked)
  await login()
  let before = Allocations.markGeneration("logged in")
  await roundTrip()
  print(try Allocations.liveCount(of: Session.self)) // exact, now
  print(try Allocations.growth(since: before))
  try Allocations.save(to: "run.lifespan")           // the command reads it
}

// README.md
func snippet2() async throws {
  try Allocations.start(recording: .swiftObjects)
  Allocations.expectRelease(of: session, within: .seconds(2), reason: "logged out")
  Allocations.withScope("GET /cart", of: .module("Shop"), expectReleasedWithin: .seconds(2)) {}
}

// Sources/Lifespan/Allocations+Heap.swift
func snippet3() async throws {
  try Allocations.start(recording: .swiftObjects)
  for leak in try Allocations.leaks().leaks {
    print(leak.instances, leak.type, leak.cycle.map(\.description))
  }
}

// Sources/Lifespan/Allocations+Watching.swift
func snippet4() async throws {
  try Allocations.start(recording: .swiftObjects)
  Allocations.expectRelease(of: session, within: .seconds(2), reason: "logged out")
}

// Sources/Lifespan/Allocations+Watching.swift
func snippet5() async throws {
  try Allocations.start(recording: .swiftObjects)
  try Allocations.withScope("GET /x", of: .module("MyApp"), expectReleasedWithin: .seconds(2)) { try respond(to: request) }
}

// Sources/Lifespan/Allocations.swift
func snippet6() async throws {
  try Allocations.start(recording: .tracked)
  let login = Allocations.markGeneration("logged in")
  try Allocations.liveCount(of: Session.self)   // exact, now, with subclasses
  try Allocations.growth(since: login).rows     // what was born since and still lives, by type
  try Allocations.save(to: "run.lifespan")      // for the command line
}

// Sources/Lifespan/Lifespan.docc/ExpectObjectsToDie.md
func snippet7() async throws {
  try Allocations.start(recording: .swiftObjects)
  Allocations.expectRelease(of: session, within: .seconds(2), reason: "logged out")
}

// Sources/Lifespan/Lifespan.docc/ExpectObjectsToDie.md
func snippet8() async throws {
  try Allocations.start(recording: .swiftObjects)
  func respond(to request: Request, next: (Request) async throws -> Response) async throws -> Response {
    try await Allocations.withScope("\(request.method) \(request.path)", of: .module("Shop"), expectReleasedWithin: .seconds(2)) {
      try await next(request)
    }
  }
}

// Sources/Lifespan/Lifespan.docc/ExpectObjectsToDie.md
func snippet9() async throws {
  try Allocations.start(recording: .swiftObjects)
  Allocations.expectedToLive(ImageCache.self, reason: "the process has one")
  Allocations.expectedToLive(pooled, reason: "back in the pool")
  Allocations.expectedToLive(matching: "Vendor.*", reason: "not ours")
  Allocations.maxLiveCount(of: Connection.self, 64)
}

// Sources/Lifespan/Lifespan.docc/FindLeaks.md
func snippet10() async throws {
  try Allocations.start(recording: .swiftObjects)
  for leak in try Allocations.leaks().leaks where !leak.isToolchains {
    print(leak.instances, leak.kind, leak.type, leak.cycle.map(\.description))
  }
  // 20 cycle MyApp.Page ["MyApp.Page.onTap (closure #1 in MyApp.Page.open())"]
  print(try Allocations.holders(of: session).path?.description ?? "nothing leads to it")
  // global MyApp.registry → MyApp.Registry.table → Swift._DictionaryStorage<Swift.String, MyApp.Session>.value → MyApp.Session
}

// Sources/Lifespan/Lifespan.docc/Lifespan.md
func snippet11() async throws {
  try Allocations.start(recording: .tracked)
  let login = Allocations.markGeneration("logged in")
  try Allocations.liveCount(of: Session.self)   // exact, now, with subclasses
  try Allocations.growth(since: login).rows     // what was born since and still lives, by type
  try Allocations.save(to: "run.lifespan")      // for the command line
}

// Sources/Lifespan/Lifespan.docc/TestLiveCounts.md
func snippet12() async throws {
  func startRecording() throws {
    try Allocations.start(recording: .tracked)
  }
}

// Sources/Lifespan/Lifespan.docc/TestLiveCounts.md
struct Snippet13 {
  final class ShopTests: XCTestCase {
    override func setUpWithError() throws { try startRecording() }
    func testAShopLetsItsVisitorsGo() throws {
      let shop = Shop()
      shop.serve(1)  // what is made once is made now
      let before = Allocations.markGeneration("warm")
      shop.serve(100)
      XCTAssertEqual(try Allocations.liveCount(of: Visitor.self), 0)
      let growth = try Allocations.growth(since: before)
      XCTAssertEqual(growth.persistentCount(ofType: String(reflecting: Visitor.self)), 0, "\(growth.rows)")
      withExtendedLifetime(shop) {}
    }
  }
}

// Sources/Lifespan/Survivor.swift
extension Page: ManagedLifetime {
  var objectsExpectedToDieWithThis: [AnyObject] { subviews + [presenter] }
}

// Sources/Lifespan/Token.swift
func snippet15() async throws {
  try Allocations.start(recording: .swiftObjects)
  struct Upload: ~Copyable {
    let token = Allocations.Token("Upload")
  }
  try Allocations.liveCount(ofToken: "Upload")
}

// Sources/Lifespan/Tracked.swift
func snippet16() async throws {
  try Allocations.start(recording: .swiftObjects)
  actor Session: Tracked {}
}

// Sources/Lifespan/Tracked.swift
func snippet17() async throws {
  try Allocations.start(recording: .swiftObjects)
  final class Page: TrackedObject {}
}

// Sources/Lifespan/Types.swift
func snippet18() async throws {
  try Allocations.start(recording: .swiftObjects)
  Allocations.withScope("GET /x", of: .module("MyApp"), expectReleasedWithin: .seconds(2)) {}
}

// Sources/LifespanReport/LifespanReport.docc/FirstAbandonedObject.md
func snippet19() async throws {
  try Allocations.start(recording: .swiftObjects)
  typealias Mark = @convention(c) (UnsafePointer<CChar>?) -> Void
  let mark = dlsym(nil, "lifespan_mark_generation").map { unsafeBitCast($0, to: Mark.self) }
  mark?("round 1")
}

let snippets: [@Sendable () async throws -> Void] = [
  { try await snippet1() },
  { try await snippet2() },
  { try await snippet3() },
  { try await snippet4() },
  { try await snippet5() },
  { try await snippet6() },
  { try await snippet7() },
  { try await snippet8() },
  { try await snippet9() },
  { try await snippet10() },
  { try await snippet11() },
  { try await snippet12() },
  { try await snippet15() },
  { try await snippet16() },
  { try await snippet17() },
  { try await snippet18() },
  { try await snippet19() },
]
