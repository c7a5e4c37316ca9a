// How a program ended, from the status that wait reports. Used by ExitStatus and by Record/.

import Glibc

/// How a program ended.
enum ProgramEnd: Equatable, Sendable {
  case exited(Int32)
  case killed(signal: Int32)

  /// Nil when the status says that it only stopped or went on.
  init?(waitStatus: Int32) {
    let low = waitStatus & 0x7f
    if low == 0 {
      self = .exited((waitStatus >> 8) & 0xff)
    } else if low != 0x7f {
      self = .killed(signal: low)
    } else {
      return nil
    }
  }
}
