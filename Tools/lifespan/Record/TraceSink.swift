// Where the drain's bytes go: the trace's file. Made by Recording, called on the thread that drains.

import CDrain
import CSession
import Glibc

/// Writes the bytes of one trace, and says once that it has become large.
final class TraceSink {
  static let largeTrace: UInt64 = 1 << 30

  private let file: TraceFile
  private let isBounded: Bool
  private let large: UInt64
  private let warn: (String) -> Void
  private var written: UInt64 = 0

  /// `isBounded`: its size is kept in bounds, so there is nothing to say.
  init(
    _ file: TraceFile, isBounded: Bool, large: UInt64 = TraceSink.largeTrace,
    warn: @escaping (String) -> Void = { StandardStreams.writeRaw($0 + "\n", to: STDERR_FILENO) }
  ) {
    self.file = file
    self.isBounded = isBounded
    self.large = large
    self.warn = warn
  }

  /// Writes all. Gives 0 or an errno value.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(file.descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return errno
      }
    }
    let before = written
    written += UInt64(bytes.count)
    if !isBounded, before < large, written >= large { warn(Self.warning(file.path, large)) }
    return 0
  }

  private static func warning(_ path: String, _ size: UInt64) -> String {
    "lifespan: \(path) has passed \(size >> 30) GiB; record with --keep living (discards what died) "
      + "or --max-size BYTES to bound it"
  }

  /// As the drain calls it; its context is an unretained TraceSink.
  static let callback: lifespan_sink = { context, bytes, length in
    guard let context, let bytes else { return EINVAL }
    return Unmanaged<TraceSink>.fromOpaque(context).takeUnretainedValue()
      .write(UnsafeRawBufferPointer(start: bytes, count: length))
  }
}

extension RecordOptions {
  /// Whether a trace is kept from growing with time.
  var isBounded: Bool { keepsLiving || maxSize > 0 }

  /// Tells a drain how the trace is kept in bounds, and where its successors are made.
  func bound(_ options: inout lifespan_drain_options, _ next: OpaquePointer) {
    options.keep_living = keepsLiving ? 1 : 0
    options.max_size = maxSize
    options.next = lifespan_next(
      begin: session_next_begin, sink: session_next_write, commit: session_next_commit,
      abandon: session_next_abandon, context: UnsafeMutableRawPointer(next))
  }
}
