// Where session sockets lie: $XDG_RUNTIME_DIR/lifespan/PID.sock, else a private folder in a temporary or the current directory.
// Used by the server in Record/ (one candidate must work) and by the clients (all candidates are looked through).

import Glibc

/// One private folder of sockets.
struct SessionDirectory {
  let path: String

  private static let pathLimit = 70

  /// All places in the order in which `record` tries them.
  static var candidates: [SessionDirectory] {
    var result: [SessionDirectory] = []
    if let runtime = variable("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") {
      result.append(SessionDirectory(path: runtime + "/lifespan"))
    }
    // A socket's path holds 107 bytes, and not every folder may be written: in a container with a read-only root the one
    // that may is perhaps the current one.
    var places = ["/tmp", "/var/tmp", FilePath.absolute(".")]
    if let temporary = variable("TMPDIR"), temporary.hasPrefix("/") { places.insert(temporary, at: 0) }
    for place in places where place.utf8.count <= pathLimit {
      let folder = SessionDirectory(path: "\(place)/lifespan-\(geteuid())")
      if !result.contains(where: { $0.path == folder.path }) { result.append(folder) }
    }
    return result
  }

  /// Makes the folder if it is missing. Nil when it can be used, else why not. A symbolic link in its place, another
  /// owner, or rights of others are refused: someone else could answer there.
  func prepare() -> String? {
    if mkdir(path, 0o700) != 0, errno != EEXIST { return "\(path): \(SystemError.text(errno))" }
    return problem()
  }

  /// Nil when the folder is ours alone.
  func problem() -> String? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return "\(path): \(SystemError.text(errno))" }
    guard status.st_mode & S_IFMT == S_IFDIR else { return "\(path) is no directory" }
    guard status.st_uid == geteuid() else { return "\(path) belongs to user \(status.st_uid)" }
    guard status.st_mode & 0o077 == 0 else { return "\(path) is open to others: chmod 700 it" }
    return nil
  }

  func socketPath(pid: Int32) -> String { "\(path)/\(pid).sock" }

  /// The sockets that lie there, by the pid of the `record` that made them.
  func sockets() -> [(pid: Int32, path: String)] {
    guard problem() == nil, let handle = opendir(path) else { return [] }
    defer { closedir(handle) }
    var result: [(pid: Int32, path: String)] = []
    while let entry = readdir(handle) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasSuffix(".sock"), let pid = Int32(name.dropLast(5)) { result.append((pid, "\(path)/\(name)")) }
    }
    return result.sorted { $0.pid < $1.pid }
  }

  private static func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }
}
