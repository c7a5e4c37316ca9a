// Functions, files and lines of a stack: by the lifespan command where it is found, else by the process's own dynamic symbols.
#if Recording
internal import Foundation
import Lifespan

enum Frames {
  /// Innermost first, as far as the body of the assertion; and a note where better names could be had.
  static func of(serial: UInt64, stack: UInt32, _ trace: KeptTrace?) -> (frames: [String], note: String?) {
    guard let command = Command.path else {
      return (bodys(own(stack)), "functions and lines: put the lifespan command on PATH, or name it in LIFESPAN_CLI")
    }
    guard let path = trace?.path else { return (bodys(own(stack)), nil) }
    guard let document = Command.run(command, ["history", path, "@\(serial)", "--json"]),
      let events = document["history"] as? [[String: Any]],
      let birth = events.first(where: { $0["event"] as? String == "birth" }),
      let frames = birth["frames"] as? [[String: Any]]
    else { return (bodys(own(stack)), "\(command) could not name the functions") }
    return (bodys(frames.map(text)), nil)
  }

  /// Without what called the body: our own check and the test framework, or what runs a task.
  private static func bodys(_ frames: [String]) -> [String] {
    let callers = ["Check.run<", "@__swiftmacro_", "swift::runJob", "_dispatch_"]
    let end = frames.firstIndex { frame in callers.contains { frame.contains($0) } }
    var shown = end.map { $0 > 0 ? frames[..<$0] : frames[...] } ?? frames[...]
    // Between a task's first function and the runtime the compiler puts some of its own.
    let thunks = ["partial apply for ", "thunk for ", "specialized thunk for "]
    while shown.count > 1, let last = shown.last, thunks.contains(where: { last.hasPrefix($0) }) { shown.removeLast() }
    return Array(shown)
  }

  private static func text(_ frame: [String: Any]) -> String {
    let function = frame["function"] as? String ?? "?"
    if let file = frame["file"] as? String, let line = frame["line"] as? Int {
      return "\(function) \(file.split(separator: "/").last ?? ""):\(line)"
    }
    return "\(function) + \(frame["offset"] as? Int ?? 0) [\(frame["module"] as? String ?? "?")]"
  }

  private static func own(_ stack: UInt32) -> [String] {
    Allocations.frames(of: stack).map { $0.symbol()?.description ?? $0.description }
  }
}

/// The lifespan command.
enum Command {
  /// Where it is: LIFESPAN_CLI, or the first one on PATH.
  static let path: String? = {
    if let named = Session.environment["LIFESPAN_CLI"] {
      return FileManager.default.isExecutableFile(atPath: named) ? named : nil
    }
    let folders = (Session.environment["PATH"] ?? "").split(separator: ":")
    return folders.map { "\($0)/lifespan" }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  /// Its document; nil where it failed.
  static func run(_ path: String, _ words: [String]) -> [String: Any]? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = words
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    process.standardInput = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let bytes = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { return nil }
    return (try? JSONSerialization.jsonObject(with: bytes)) as? [String: Any]
  }
}

/// Who holds an object.
enum HoldingPath {
  /// `inverted`: its address. No path: it has died by now, or nothing says who holds it; then a note says why.
  static func of(inverted: UInt64) -> (path: String?, note: String?) {
    do {
      let report = try Allocations.holders(atInverted: inverted)
      return (Allocations.HolderReport.holder(report.path?.description, report.reach), nil)
    } catch {
      if case .unknownObject = error { return (nil, nil) }
      return (nil, "who holds it is not known: \(error)")
    }
  }
}
#endif
