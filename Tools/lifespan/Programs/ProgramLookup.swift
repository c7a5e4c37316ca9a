// Finds PROGRAM as a shell does: by PATH unless it has a slash. Used by `record` and `doctor`.

import Glibc

/// Where a program lies.
struct ProgramLookup {
  /// Its file, ready for exec.
  let path: String

  /// Throws 127 when there is none, 126 when it cannot be executed.
  init(_ name: String) throws {
    if name.isEmpty { throw CommandFailure("'': no such program", exitStatus: .notFound) }
    if name.contains("/") {
      try Self.check(name)
      path = name
      return
    }
    var denied: CommandFailure?
    for directory in Self.searchPath {
      let candidate = directory + "/" + name
      do {
        try Self.check(candidate)
        path = candidate
        return
      } catch let failure as CommandFailure {
        if failure.exitStatus == .notExecutable { denied = denied ?? failure }
      }
    }
    throw denied ?? CommandFailure("\(name): not found in PATH", exitStatus: .notFound)
  }

  private static var searchPath: [String] {
    let text = getenv("PATH").map { String(cString: $0) } ?? "/usr/local/bin:/usr/bin:/bin"
    return text.split(separator: ":", omittingEmptySubsequences: false).map { $0.isEmpty ? "." : String($0) }
  }

  private static func check(_ path: String) throws {
    var status = stat()
    guard stat(path, &status) == 0 else {
      let code = errno
      let missing = code == ENOENT || code == ENOTDIR
      throw CommandFailure(
        "\(path): \(SystemError.text(code))", exitStatus: missing ? .notFound : .notExecutable)
    }
    if status.st_mode & S_IFMT == S_IFDIR {
      throw CommandFailure("\(path): is a directory", exitStatus: .notExecutable)
    }
    guard access(path, X_OK) == 0 else {
      throw CommandFailure("\(path): \(SystemError.text(errno))", exitStatus: .notExecutable)
    }
  }
}
