// Runs the built `lifespan` (or any program) as a user does and gives stdout, stderr and the exit status. Used by all tests here.

import Foundation
import XCTest

/// What a finished process left.
struct CommandResult {
  let status: Int32
  let output: String
  let errors: String

  /// The lines on stderr.
  var errorLines: [String] { errors.split(separator: "\n").map(String.init) }
}

/// A process that runs while the test looks at it.
final class RunningCommand {
  let process = Process()
  let input = Pipe()
  let output = Pipe()
  private let errorFile: URL

  init(_ executable: String, _ words: [String], in directory: URL, environment: [String: String]) throws {
    errorFile = directory.appendingPathComponent(".stderr-\(UUID().uuidString)")
    try Data().write(to: errorFile)
    process.executableURL = URL(fileURLWithPath: executable)
    process.arguments = words
    process.currentDirectoryURL = directory
    process.environment = environment
    process.standardInput = input
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: errorFile)
    try process.run()
  }

  var pid: Int32 { process.processIdentifier }

  /// Waits for a line on stdout: the program says that it is where the test wants it.
  func readLine() -> String {
    var line = Data()
    while let byte = try? output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty, byte[0] != 10 { line += byte }
    return String(decoding: line, as: UTF8.self)
  }

  func type(_ text: String) { input.fileHandleForWriting.write(Data(text.utf8)) }

  /// Closes stdin, waits for the end.
  func finish() throws -> CommandResult {
    try? input.fileHandleForWriting.close()
    let rest = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    let killed = process.terminationReason == .uncaughtSignal
    let errors = try String(decoding: Data(contentsOf: errorFile), as: UTF8.self)
    try FileManager.default.removeItem(at: errorFile)
    return CommandResult(
      status: (killed ? 128 : 0) + process.terminationStatus, output: String(decoding: rest, as: UTF8.self),
      errors: errors)
  }
}

/// A test with a folder of its own, in which the command runs. Nothing of the user's environment that is ours reaches it.
class CommandTestCase: XCTestCase {
  private(set) var folder = URL(fileURLWithPath: "/")

  override func setUpWithError() throws {
    // /tmp by name: a socket's path must be short.
    folder = URL(fileURLWithPath: "/tmp/lifespan-test-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  }

  override func tearDownWithError() throws { try FileManager.default.removeItem(at: folder) }

  /// The command beside the test bundle.
  static let command: String = {
    let test = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(fileURLWithPath: test).deletingLastPathComponent().appendingPathComponent("lifespan").path
  }()

  var environment: [String: String] {
    var result = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("LIFESPAN_") }
    result["LD_PRELOAD"] = nil
    result["XDG_RUNTIME_DIR"] = folder.path
    result["TMPDIR"] = folder.path
    return result
  }

  func start(
    _ words: [String], executable: String = command, adding: [String: String] = [:]
  ) throws -> RunningCommand {
    try RunningCommand(executable, words, in: folder, environment: environment.merging(adding) { $1 })
  }

  func run(_ words: String..., adding: [String: String] = [:], input: String = "") throws -> CommandResult {
    let running = try start(words, adding: adding)
    if !input.isEmpty { running.type(input) }
    return try running.finish()
  }

  /// The traces in the folder, by name.
  func traces() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.contains("lifespan") }
      .filter { $0 != "lifespan" }.sorted()
  }
}
