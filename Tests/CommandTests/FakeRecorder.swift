// Builds the C programs of Fixtures once and gives the environment that makes `record` use the fake recorder.

import Foundation
import XCTest

enum FakeRecorder {
  private static let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Fixtures")

  /// Gone with the temporary directory; one for each run of the tests.
  private static let built: Result<URL, any Error> = Result {
    let folder = URL(fileURLWithPath: "/tmp/lifespan-fixtures-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let headers = fixtures.appendingPathComponent("../../../Sources/CTraceFormat/include").path
    try compile(["-shared", "-fPIC", "-I", headers, "fake_recorder.c", "-o", folder.path + "/fake_recorder.so"])
    try compile(["terminal.c", "-lutil", "-o", folder.path + "/terminal"])
    try compile(["-static", "static.c", "-o", folder.path + "/static"])
    atexit { try? FileManager.default.removeItem(atPath: "/tmp/lifespan-fixtures-\(getpid())") }
    return folder
  }

  static func path(_ name: String) throws -> String { try built.get().appendingPathComponent(name).path }

  /// `runtime`: the file name of the program that counts as one with a Swift runtime.
  static func environment(runtime: String = "bash") throws -> [String: String] {
    ["LIFESPAN_PRELOAD": try path("fake_recorder.so"), "FAKE_RUNTIME": runtime]
  }

  private static func compile(_ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["clang", "-O1"] + words
    process.currentDirectoryURL = fixtures
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw CocoaError(.executableLoad) }
  }
}
