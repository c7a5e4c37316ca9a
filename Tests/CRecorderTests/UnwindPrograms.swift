// Builds the unwinder's test programs (Tests/Programs/unwind) once and runs them under the checking preload library.
// Called by UnwindTests.
import Foundation
import XCTest

struct UnwindPrograms {
  struct Failed: Error, CustomStringConvertible { let description: String }

  /// What a program's run said: the figures of the line that the checking library prints at exit.
  struct Figures {
    let line: String
    private let values: [String: Int]

    init(output: String) throws {
      guard let line = output.split(separator: "\n").first(where: { $0.hasPrefix("unwind: walks") }) else {
        throw Failed(description: "no figures in: \(output)")
      }
      self.line = String(line)
      var values: [String: Int] = [:]
      let words = line.split(separator: " ")
      for (name, value) in zip(words, words.dropFirst()) { values[String(name)] = Int(value) ?? values[String(name)] }
      self.values = values
    }

    subscript(name: String) -> Int { values[name] ?? -1 }
  }

  let folder: URL

  static let shared = Result { try UnwindPrograms() }

  private init() throws {
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("lifespan-unwind-\(getpid())")
    let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Programs/unwind/run.sh")
    let (status, output) = try Self.run(script.path, ["build", folder.path], [:])
    guard status == 0 else { throw Failed(description: "run.sh build ended with \(status): \(output)") }
  }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// Runs a program with a checking library; gives its figures. The program must end with 0.
  func check(
    _ name: String, _ arguments: [String] = [], _ variables: [String: String] = [:], with library: String = "check.so"
  ) throws -> Figures {
    var environment = variables
    environment["LD_PRELOAD"] = path(library)
    let (status, output) = try Self.run(path(name), arguments, environment)
    guard status == 0 else { throw Failed(description: "\(name) ended with \(status): \(output)") }
    return try Figures(output: output)
  }

  static func run(_ path: String, _ arguments: [String], _ variables: [String: String]) throws -> (Int32, String) {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    try process.run()
    let output = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, output)
  }
}
