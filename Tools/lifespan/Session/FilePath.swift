// Paths as another process needs them. Used where a path is told over the socket or shown.

import Glibc

enum FilePath {
  /// The last part.
  static func name(_ path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

  /// From the root; no link is resolved.
  static func absolute(_ path: String) -> String {
    if path.hasPrefix("/") { return path }
    guard let directory = getcwd(nil, 0) else { return path }
    defer { free(directory) }
    return path == "." ? String(cString: directory) : String(cString: directory) + "/" + path
  }
}
