// Images that are loaded while the recording runs: stacks go through them.
import Foundation
import Lifespan
import XCTest

final class LateImageTests: RecordedTestCase {
  final class FromLate: Tracked { var value = 1 }

  nonisolated(unsafe) static var object: FromLate?

  func testAStackGoesThroughALibraryThatWasLoadedAfterTheStart() throws {
    let call = try late("int late_call(void (*back)(void)) { back(); return 1; }", named: "late_call")
    let direct = try depth { Self.object = FromLate() }
    let through = try depth { _ = call { LateImageTests.object = FromLate() } }
    XCTAssertGreaterThan(through, direct, "the frames of the late image and those below it are there")
  }

  /// Frames of the stack that made the object.
  private func depth(_ body: () -> Void) throws -> Int {
    body()
    let object = try XCTUnwrap(Self.object)
    let birth = try XCTUnwrap(Allocations.history(of: object).events.first)
    Self.object = nil
    return birth.backtrace.count
  }

  private typealias Call = @convention(c) (@convention(c) () -> Void) -> Int32

  /// A function of a library that is compiled and loaded now.
  private func late(_ code: String, named name: String) throws -> Call {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("late-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let source = folder.appendingPathComponent("late.c")
    let library = folder.appendingPathComponent("late.so")
    try code.write(to: source, atomically: true, encoding: .utf8)
    let compiler = Process()
    compiler.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    compiler.arguments = ["cc", "-shared", "-fPIC", source.path, "-o", library.path]
    try compiler.run()
    compiler.waitUntilExit()
    XCTAssertEqual(compiler.terminationStatus, 0)
    let handle = try XCTUnwrap(dlopen(library.path, RTLD_NOW))
    return unsafeBitCast(try XCTUnwrap(dlsym(handle, name)), to: Call.self)
  }
}
