// Starts the program: same process group, terminal, descriptors, mask and dispositions as without us.
// Used by RecordSession.

import CSession
import Glibc

/// What is to be started.
struct ProgramLaunch {
  let path: String
  /// The words of the command line, the program's name as typed first.
  let words: [String]
  /// `NAME=value` words.
  let environment: [String]
  /// Its standard output is our standard error.
  var stdoutToStderr = false

  /// Gives the pid; throws 127 or 126 as a shell ends when it cannot start a program.
  func start(mask: sigset_t) throws -> Int32 {
    var pid = spawn(path, words, mask)
    // As execvp: a file that is no executable format is a script for the shell.
    if pid == -ENOEXEC { pid = spawn("/bin/sh", ["sh", path] + words.dropFirst(), mask) }
    if pid > 0 { return pid }
    let missing = pid == -ENOENT || pid == -ENOTDIR
    let hint = missing ? " (its interpreter is missing)" : ""
    throw CommandFailure(
      "\(path): \(SystemError.text(-pid))\(hint)", exitStatus: missing ? .notFound : .notExecutable)
  }

  private func spawn(_ path: String, _ words: [String], _ mask: sigset_t) -> Int32 {
    withUnsafePointer(to: mask) { mask in
      CStringArray.with(words) { arguments in
        CStringArray.with(environment) { environment in
          session_spawn(path, arguments, environment, mask, stdoutToStderr)
        }
      }
    }
  }
}

/// Arrays of C strings that end with nil.
enum CStringArray {
  static func with<Result>(
    _ words: [String], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
  ) -> Result {
    let pointers = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: words.count + 1)
    for (index, word) in words.enumerated() { (pointers + index).initialize(to: strdup(word)) }
    (pointers + words.count).initialize(to: nil)
    defer {
      for index in words.indices { free(pointers[index]) }
      pointers.deallocate()
    }
    return body(pointers)
  }
}
