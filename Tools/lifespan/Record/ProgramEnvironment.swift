// The environment of the recorded program: ours plus two variables. Used by RecordSession.

import Glibc

enum ProgramEnvironment {
  /// `NAME=value` words: everything that `record` was started with, LD_PRELOAD led by our library, the session's socket, a
  /// word for address sanitizers.
  /// Without a library the program's environment is left alone.
  static func words(library: String?, socket: String?) -> [String] {
    var words: [String] = []
    var previous = ""
    var sanitizer = ""
    var next = environ
    while let entry = next.pointee {
      let word = String(cString: entry)
      if word.hasPrefix("LD_PRELOAD=") {
        previous = String(word.dropFirst("LD_PRELOAD=".count))
      } else if library != nil, word.hasPrefix("ASAN_OPTIONS=") {
        sanitizer = String(word.dropFirst("ASAN_OPTIONS=".count))
      } else if !word.hasPrefix(EnvironmentVariable.session.name + "=") {
        words.append(word)
      }
      next += 1
    }
    if let library {
      words.append("LD_PRELOAD=" + preload(library, before: previous))
      // One that is a shared library refuses to run where it is not the first, unless it is told not to look.
      words.append("ASAN_OPTIONS=" + (sanitizer.isEmpty ? "" : sanitizer + ":") + "verify_asan_link_order=0")
    } else if !previous.isEmpty {
      words.append("LD_PRELOAD=" + previous)
    }
    if let socket { words.append("\(EnvironmentVariable.session.name)=\(socket)") }
    return words
  }

  /// An address sanitizer insists on being the first library; everyone else comes after ours.
  static func preload(_ library: String, before previous: String) -> String {
    let others = previous.split(whereSeparator: { $0 == ":" || $0 == " " }).map(String.init)
      .filter { $0 != library }
    let sanitizers = others.filter { $0.contains("asan") }
    return (sanitizers + [library] + others.filter { !$0.contains("asan") }).joined(separator: ":")
  }
}
