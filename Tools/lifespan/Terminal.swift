// The terminal that a report is written to. Asked by ReadingOptions.

import Glibc

enum Terminal {
  /// Its columns; nil of what is no terminal, or of one that does not know.
  static func width(of descriptor: Int32) -> Int? {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return nil }
    return Int(size.ws_col)
  }
}
