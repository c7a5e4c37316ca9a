// Where a trace's bytes come from: memory or a file. The reader itself does no input; it asks one of these.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// Bytes that can be read at any offset.
public protocol TraceBytes: AnyObject {
  /// What to call them in messages: the path.
  var name: String { get }
  /// Copies bytes from `offset` on into `target`. Fewer than asked for only where they end.
  func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int
}

/// A trace in memory.
public final class TraceMemory: TraceBytes {
  /// What to call it in messages.
  public let name: String
  private let bytes: [UInt8]

  /// The bytes of a whole file.
  public init(_ bytes: [UInt8], name: String = "trace") {
    self.bytes = bytes
    self.name = name
  }

  /// See `TraceBytes`.
  public func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) -> Int {
    guard offset < UInt64(bytes.count) else { return 0 }
    let count = min(target.count, bytes.count - Int(offset))
    bytes.withUnsafeBytes { source in
      target.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[Int(offset)..<Int(offset) + count]))
    }
    return count
  }
}

/// A trace in a file. Read by pread, not mapped: a mapping ends the reader by SIGBUS when somebody truncates the file.
/// May be read while it is being written.
public final class TraceFile: TraceBytes {
  /// The path as given.
  public let name: String
  private let descriptor: Int32

  /// Opens the file.
  public init(path: String) throws(TraceError) {
    name = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    if descriptor < 0 { throw TraceError(file: path, problem: .unreadable(TraceFile.lastError)) }
  }

  deinit { close(descriptor) }

  private static var lastError: String { strerror(errno).map { String(cString: $0) } ?? "error \(errno)" }

  /// See `TraceBytes`.
  public func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int {
    guard let base = target.baseAddress, offset <= UInt64(Int64.max) else { return 0 }
    var done = 0
    while done < target.count {
      let count = pread(descriptor, base + done, target.count - done, off_t(offset) + off_t(done))
      if count == 0 { break }
      if count < 0 {
        if errno == EINTR { continue }
        throw TraceError(file: name, offset: offset, problem: .unreadable(TraceFile.lastError))
      }
      done += count
    }
    return done
  }
}
