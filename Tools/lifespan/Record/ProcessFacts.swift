// What /proc tells about a process of the session: which file it runs and with which words. Asked for by RecordingChoice
// and by Recording for the trace's INFO; never by what the process itself claims.

import Glibc

/// One look at a process. Empty where /proc is not there or the process is gone.
struct ProcessFacts: Sendable {
  let executable: String
  let arguments: [String]

  init(executable: String, arguments: [String]) {
    self.executable = executable
    self.arguments = arguments
  }

  init(pid: Int32, claimed: String) {
    var link = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/\(pid)/exe", &link, link.count)
    let real = count > 0 ? String(decoding: link[..<count], as: UTF8.self) : claimed
    executable = real
    arguments = Self.contents("/proc/\(pid)/cmdline").split(separator: 0, omittingEmptySubsequences: false).dropLast()
      .map { String(decoding: $0, as: UTF8.self) }
  }

  /// The file's own name.
  var name: String { executable.split(separator: "/").last.map(String.init) ?? executable }

  /// A file of /proc, its first megabyte; empty where it cannot be read.
  static func contents(_ path: String) -> [UInt8] {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return [] }
    defer { close(file) }
    var result: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4096)
    while result.count < 1 << 20 {
      let count = Glibc.read(file, &part, part.count)
      if count <= 0 { break }
      result += part[..<count]
    }
    return result
  }
}
