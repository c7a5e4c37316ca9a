// Finds the file that TRACE means: a path, the PID of a running recording, or nothing (the newest *.lifespan here).
// Used by every reading subcommand.
import Glibc

/// A trace file, and whether it is still being written.
struct TraceOperand {
  let path: String
  /// Of a running recording: nanoseconds since it began, when it was asked for what it has. Nil for a file.
  let elapsed: UInt64?

  /// Resolves what was typed; nil when TRACE was left out.
  init(_ typed: String?) throws {
    guard let typed else {
      path = try Self.newest()
      elapsed = nil
      return
    }
    if let pid = Self.pid(typed) {
      let running = try RunningRecording.resolve(pid: pid)
      path = running.trace
      elapsed = running.status.elapsedNanoseconds
    } else {
      path = typed
      elapsed = nil
    }
  }

  /// The process that a word names, where no file has that name.
  static func pid(_ word: String) -> Int32? {
    guard access(word, F_OK) != 0, word.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int32(word)
  }

  /// Whether a word is the path of a file that may be a trace.
  static func isFile(_ word: String) -> Bool {
    var status = stat()
    return stat(word, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
  }

  /// Of one word alone the question may have been forgotten, and the word be TRACE. A program may be called like its module.
  static func checkQuestion(_ operands: [String], is question: String) throws {
    guard operands.count == 1, let word = operands.first else { return }
    guard word.hasSuffix(".lifespan") || (isFile(word) && (try? TraceOperand(word).open()) != nil) else { return }
    throw UsageError.missingOperand("[TRACE] \(question), and \(question) is missing")
  }

  /// The trace that was changed last in the current folder; of two at the same moment the one with the later name.
  private static func newest() throws -> String {
    var best: (name: String, seconds: Int, nanoseconds: Int)?
    if let folder = opendir(".") {
      defer { closedir(folder) }
      while let entry = readdir(folder) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        var status = stat()
        guard name.hasSuffix(".lifespan"), stat(name, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
          continue
        }
        let candidate = (name, status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        if let known = best, (candidate.1, candidate.2, candidate.0) < (known.seconds, known.nanoseconds, known.name) {
          continue
        }
        best = candidate
      }
    }
    guard let best else {
      throw CommandFailure("no TRACE is given and no *.lifespan is here; lifespan record -- PROGRAM makes one")
    }
    return best.name
  }
}
