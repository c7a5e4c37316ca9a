// The words of an errno value. Used wherever a line says why the system refused.

import Glibc

enum SystemError {
  static func text(_ code: Int32) -> String {
    guard let words = strerror(code) else { return "error \(code)" }
    return String(cString: words)
  }
}
