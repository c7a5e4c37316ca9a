// Writing to stdout and stderr without buffers, so that our lines never tear a program's.

import Glibc
import LifespanReport

enum StandardStreams {
  /// True while a report belongs on stderr, because stdout is a recorded program's. Main thread only.
  nonisolated(unsafe) static var toStandardError = false

  /// Where reports go.
  static var report: Int32 { toStandardError ? STDERR_FILENO : STDOUT_FILENO }

  static func printLine(_ text: String) { printText(text + "\n") }
  /// Text that ends its own lines: a whole report.
  static func printText(_ text: String) { write(text, to: report) }
  /// One line; a name in it that holds control characters speaks to no terminal.
  static func errorLine(_ text: String) { write(text.printable + "\n", to: STDERR_FILENO) }

  /// Writes all of it or gives up at the first error: nobody listens then.
  static func write(_ text: String, to descriptor: Int32) {
    StatusLine.clear()
    writeRaw(text, to: descriptor)
  }

  /// A report that is no text.
  static func printBytes(_ bytes: [UInt8]) {
    StatusLine.clear()
    writeRaw(bytes[...], to: report)
  }

  /// The same, beside a status line that is shown.
  static func writeRaw(_ text: String, to descriptor: Int32) { writeRaw(Array(text.utf8)[...], to: descriptor) }

  private static func writeRaw(_ whole: ArraySlice<UInt8>, to descriptor: Int32) {
    var bytes = whole
    while !bytes.isEmpty {
      let written = bytes.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if written > 0 {
        bytes = bytes.dropFirst(written)
      } else if errno != EINTR {
        return
      }
    }
  }
}
