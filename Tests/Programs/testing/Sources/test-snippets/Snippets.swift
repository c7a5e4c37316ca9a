// Examples of the documentation, as they are printed there. Written by Tools/snippets.
// swift-format-ignore-file
import Lifespan
import LifespanTesting
import Testing

// README.md
struct Snippet1 {
  @Test func nothingIsLeftOfASession() async throws {
    try await expectLiveCount(of: Session.self, 0) { try await login(); try await logout() }
    try await expectNoGrowth(of: .module("MyApp"), warmUp: 2, iterations: 5) { try await roundTrip() }
    try await expectNoLeaks { try await roundTrip() }
  }
}

// Sources/Lifespan/Lifespan.docc/TestLiveCounts.md
struct Snippet2 {
  @Test func nothingIsLeftOfASession() async throws {
    try await expectLiveCount(of: Session.self, 0) { try await login(); try await logout() }
  }
}

// Sources/Lifespan/Lifespan.docc/TestLiveCounts.md
func snippet3() async throws {
  suppressSurvivors(of: .matching("Vendor.*"), reason: "not ours")                 // in all tests
  await withKnownSurvivors(of: .type(Session.self), reason: "#412") {}          // in this body
  try await expectNoGrowth(of: .module("Shop").except("Shop.ImageCache", reason: "fills up")) {}
}

// Sources/LifespanTesting/Expectations.swift
func snippet4() async throws {
  try await expectLiveCount(of: Session.self, 0) { try await login(); try await logout() }
}

// Sources/LifespanTesting/Expectations.swift
func snippet5() async throws {
  await expectReleased(within: .seconds(1)) { let page = Page(); page.open(); return page }
}

// Sources/LifespanTesting/Expectations.swift
func snippet6() async throws {
  try await expectNoGrowth(of: .module("MyApp"), warmUp: 2, iterations: 5) { try await roundTrip() }
}

// Sources/LifespanTesting/Expectations.swift
func snippet7() async throws {
  try await expectNoLeaks { try await login(); try await logout() }
}

// Sources/LifespanTesting/LifespanTesting.docc/LifespanTesting.md
struct Snippet8 {
  @Test func nothingIsLeftOfASession() async throws {
    try await expectLiveCount(of: Session.self, 0) { try await login(); try await logout() }
  }
}

// Sources/LifespanTesting/Limits.swift
func snippet9() async throws {
  try await withKnownSurvivors(of: .type(ConnectionPool.self), reason: "closed by the server, #412") {
    try await expectNoLeaks { try await roundTrip() }
  }
}

let snippets: [@Sendable () async throws -> Void] = [
  { try await Snippet1().nothingIsLeftOfASession() },
  { try await Snippet2().nothingIsLeftOfASession() },
  { try await snippet3() },
  { try await snippet4() },
  { try await snippet5() },
  { try await snippet6() },
  { try await snippet7() },
  { try await Snippet8().nothingIsLeftOfASession() },
  { try await snippet9() },
]
