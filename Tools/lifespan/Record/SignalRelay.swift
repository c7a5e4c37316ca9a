// Signals that reach `record`: a terminal's go to the program anyway, those sent to `record` alone are passed on.
// All are blocked in this process and read from a signalfd, so that dispositions and mask of the program are those that
// `record` was started with, and so that it works as pid 1. Used by RecordSession.

import CSession
import Glibc

/// The signals of one `record`.
final class SignalRelay {
  let descriptor: Int32
  /// The mask that `record` was started with; the program gets it.
  private(set) var maskBefore = sigset_t()

  /// Blocks the signals; to be made before any thread is.
  init() throws {
    descriptor = session_signals(&maskBefore, MemoryLayout<sigset_t>.size)
    if descriptor < 0 { throw CommandFailure("signals: \(SystemError.text(-descriptor))") }
  }

  deinit { close(descriptor) }

  /// Reads all that are waiting. Gives true when a child has changed.
  func relay(to program: Int32?) -> Bool {
    var childChanged = false
    var sender: Int32 = 0
    var fromTerminal = false
    while true {
      let signal = session_next_signal(descriptor, &sender, &fromTerminal)
      if signal == 0 { return childChanged }
      if signal == SIGCHLD {
        childChanged = true
      } else if !fromTerminal, let program, sender != program {
        // What the program itself sends to its whole group has reached it already.
        kill(program, signal)
      }
    }
  }
}
