// How far the reading of a trace is, on a terminal. Made by OpenedRecording and DumpCommand, fed by the reader's own reads.

import Glibc
import LifespanTrace

/// A trace's bytes that say how far they have been read: a line on stderr once that takes longer than a second, where
/// stderr is a terminal.
final class ReadingProgress: TraceBytes {
  private static let patience: UInt64 = 1_000_000_000
  private static let interval: UInt64 = 100_000_000

  let name: String
  private let bytes: any TraceBytes
  private let size: UInt64
  private let now: () -> UInt64
  private let show: (String) -> Void
  private let began: UInt64
  private var shown: UInt64 = 0

  /// `now`: nanoseconds; `show`: takes the line, empty to take it away.
  init(
    _ bytes: any TraceBytes, size: UInt64, now: @escaping () -> UInt64 = ReadingProgress.clock,
    show: @escaping (String) -> Void = StatusLine.show
  ) {
    name = bytes.name
    self.bytes = bytes
    self.size = size
    self.now = now
    self.show = show
    began = now()
  }

  /// The bytes of a file. `streams`: the report is printed while it is read, so that its terminal is not to be written to.
  static func open(_ path: String, streams: Bool = false) throws -> any TraceBytes {
    let file = try LifespanTrace.TraceFile(path: path)
    var status = stat()
    guard isatty(STDERR_FILENO) == 1, !streams || isatty(STDOUT_FILENO) == 0, stat(path, &status) == 0 else {
      return file
    }
    return ReadingProgress(file, size: UInt64(max(0, status.st_size)))
  }

  func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int {
    let count = try bytes.read(at: offset, into: target)
    tell(offset &+ UInt64(count))
    return count
  }

  /// A trace is read once for its tables and once for each pass over its events: the percentage begins anew then.
  private func tell(_ done: UInt64) {
    let time = now()
    guard time &- began >= Self.patience else { return }
    if done >= size {
      show("")
      shown = 0
    } else if time &- shown >= Self.interval {
      show("lifespan: reading \(name): \(done * 100 / size) %")
      shown = time
    }
  }

  private static func clock() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }
}

/// One line on stderr that goes away before anything else is written to a terminal. Main thread only.
enum StatusLine {
  private nonisolated(unsafe) static var length = 0

  /// Shows a line in place of the last one; an empty one takes it away. Blanks do for a terminal of any kind.
  static func show(_ line: String) {
    let width = max(20, (Terminal.width(of: STDERR_FILENO) ?? 80) - 1)
    let text = line.count > width ? "…" + line.suffix(width - 1) : line
    guard length > 0 || !text.isEmpty else { return }
    let blanks = String(repeating: " ", count: max(0, length - text.count))
    length = text.count
    StandardStreams.writeRaw("\r" + text + blanks + (text.isEmpty ? "\r" : ""), to: STDERR_FILENO)
  }

  /// Before other output.
  static func clear() { show("") }
}
