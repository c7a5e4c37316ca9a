// Runs the built `lifespan` as a user does. Used by the tests of the reading subcommands.
import Foundation
import XCTest

/// One run: what it wrote and how it ended.
struct CommandRun {
  let stdout: String
  let stderr: String
  let status: Int32

  /// Runs `lifespan` with these words in `folder`, with no input and no terminal.
  init(_ words: [String], in folder: URL) throws {
    let process = Process()
    // The test bundle lies beside the products.
    let bundle = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
    process.executableURL = bundle.deletingLastPathComponent().appendingPathComponent("lifespan")
    process.arguments = words
    process.currentDirectoryURL = folder
    process.standardInput = FileHandle.nullDevice
    let output = folder.appendingPathComponent("stdout.\(UUID().uuidString)")
    let errors = folder.appendingPathComponent("stderr.\(UUID().uuidString)")
    for file in [output, errors] { try Data().write(to: file) }
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: errors)
    try process.run()
    process.waitUntilExit()
    stdout = try String(contentsOf: output, encoding: .utf8)
    stderr = try String(contentsOf: errors, encoding: .utf8)
    status = process.terminationStatus
  }
}
