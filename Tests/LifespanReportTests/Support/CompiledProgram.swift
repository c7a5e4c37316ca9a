// A small program built for a test by the toolchain's clang, in a temporary folder. Used by SymbolizerTests.
import Foundation
import LifespanSymbols
import XCTest

/// A shared object made of one C++ source, with a build-id of the test's choice.
struct CompiledProgram {
  let path: String

  var image: CodeImage { CodeImage(path: path, buildID: BuildID([0xab, 0xcd, 0xef])) }

  static let source = """
    struct Cache { void refill(int n); };
    extern "C" int exported_one(int n);
    static int counter;
    __attribute__((noinline)) static int private_one(int n) { counter += n; asm volatile(""); return counter * 3; }
    extern "C" __attribute__((noinline)) int exported_one(int n) { return private_one(n) + 1; }
    __attribute__((noinline)) void Cache::refill(int n) { counter -= n; asm volatile(""); }
    extern "C" __attribute__((noinline, noreturn)) void ends_in_a_call() { __builtin_trap(); }
    """

  /// Builds it as `name` in `folder`; `flags` are added for the linker and the compiler.
  static func build(in folder: URL, name: String, flags: [String] = []) throws -> CompiledProgram {
    let source = folder.appendingPathComponent("program.cpp")
    try Data(Self.source.utf8).write(to: source)
    let output = folder.appendingPathComponent(name)
    try FileManager.default.createDirectory(at: output.deletingLastPathComponent(), withIntermediateDirectories: true)
    try run(
      [
        "clang++", "-O1", "-fPIC", "-shared", "-Wl,--build-id=0xabcdef", "-o", output.path, source.path,
      ] + flags)
    return CompiledProgram(path: output.path)
  }

  private static func run(_ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    let output = Pipe()
    process.standardError = output
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    if process.terminationStatus != 0 { throw BuildFailure(text: text) }
  }

  struct BuildFailure: Error { let text: String }
}

/// A folder that goes with the test.
func temporaryFolder(_ test: XCTestCase) throws -> URL {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("lifespan-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  test.addTeardownBlock { try? FileManager.default.removeItem(at: folder) }
  return folder
}
