// The name of a trace: patterns of -o, the default, and names that are taken. Used by TraceFile.

import Glibc

/// How the traces of one `record` are named.
struct OutputName: Sendable {
  /// As given with -o; nil: `PROGRAM.PID.lifespan` in the current directory.
  let pattern: String?
  let host: String
  /// Local time when the recording began, e.g. `20250131T235959`.
  let time: String

  /// The directory where the traces will lie.
  var directory: String {
    guard let pattern else { return "." }
    let path = expand(pattern, pid: 0)
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The name that a recording of this process should get, before names that are taken are looked at.
  func path(program: String, pid: Int32) -> String {
    guard let pattern else {
      let base = program.split(separator: "/").last.map(String.init) ?? "program"
      return "\(base).\(pid).lifespan"
    }
    return expand(pattern, pid: pid)
  }

  private func expand(_ pattern: String, pid: Int32) -> String {
    var result = ""
    var rest = pattern[...]
    while let character = rest.popFirst() {
      guard character == "%", let letter = rest.first else {
        result.append(character)
        continue
      }
      switch letter {
      case "p": result += String(pid)
      case "h": result += host
      case "t": result += time
      case "%": result += "%"
      default: result += "%" + String(letter)
      }
      rest.removeFirst()
    }
    return result
  }

  /// `App.7.lifespan` → `App.7-2.lifespan`; a name without that ending gets `-2` at its end.
  static func numbered(_ path: String, _ number: Int) -> String {
    if number < 2 { return path }
    let ending = ".lifespan"
    guard path.hasSuffix(ending) else { return "\(path)-\(number)" }
    return "\(path.dropLast(ending.count))-\(number)\(ending)"
  }

  init(pattern: String?) {
    self.pattern = pattern
    var name = [CChar](repeating: 0, count: 256)
    gethostname(&name, name.count - 1)
    host = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    var now = Glibc.time(nil)
    var parts = tm()
    localtime_r(&now, &parts)
    var text = [CChar](repeating: 0, count: 32)
    let count = strftime(&text, text.count, "%Y%m%dT%H%M%S", &parts)
    time = String(decoding: text.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
