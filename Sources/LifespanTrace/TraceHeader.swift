// The 64 bytes that a trace begins with. Read by TraceReader, written by TraceWriter.
import CTraceFormat

/// The header of a trace.
public struct TraceHeader: Sendable, Codable, Hashable {
  /// Which clock the ticks come from: 1 time stamp counter, 2 CLOCK_MONOTONIC nanoseconds.
  public var clock: UInt8 = 2
  /// 1 x86-64, 2 aarch64.
  public var architecture: UInt8 = 1
  /// Capture when the file was begun: 0 none, 1 complete, 2 partial, 3 counts-only. INFO `capture` wins.
  public var capture: UInt8 = 1
  /// 1 preload, 2 linked.
  public var door: UInt8 = 1
  /// Bytes of a page.
  public var pageSize: UInt32 = 4096
  /// The clock's rate. Never 0.
  public var ticksPerSecond: UInt64 = 1_000_000_000
  /// The start by that clock.
  public var startTicks: UInt64 = 0
  /// The start in nanoseconds since 1970.
  public var startRealtime: UInt64 = 0
  /// The program's process id.
  public var pid: UInt32 = 0
  /// Its parent's.
  public var parentPID: UInt32 = 0
  /// Ticks per unit of the time column. Never 0.
  public var ticksPerUnit: UInt32 = 1
  /// Minor version of the format.
  public var minor: UInt16 = 0

  /// The header of a trace by CLOCK_MONOTONIC, begun at 0.
  public init() {}

  /// Bytes that this version writes.
  public static let byteCount = Int(LIFESPAN_TRACE_HEADER_BYTES)
  static let magic: [UInt8] = Array(LIFESPAN_TRACE_MAGIC.utf8)
  static let major = UInt16(LIFESPAN_TRACE_MAJOR)

  /// Ticks since the start as nanoseconds; saturates instead of wrapping, as both may come from a damaged file.
  public func time(_ ticks: Ticks) -> TraceTime {
    let product = ticks.rawValue.magnitude.multipliedFullWidth(by: 1_000_000_000)
    guard product.high < ticksPerSecond else { return TraceTime(ticks.rawValue < 0 ? Int64.min : Int64.max) }
    let quotient = ticksPerSecond.dividingFullWidth((product.high, product.low)).quotient
    let magnitude = Int64(clamping: quotient)
    return TraceTime(ticks.rawValue < 0 ? -magnitude : magnitude)
  }

  /// Nanoseconds since the start as ticks, rounded down in magnitude; saturates.
  public func ticks(_ time: TraceTime) -> Ticks {
    let product = time.rawValue.magnitude.multipliedFullWidth(by: ticksPerSecond)
    guard product.high < 1_000_000_000 else { return Ticks(time.rawValue < 0 ? Int64.min : Int64.max) }
    let quotient = UInt64(1_000_000_000).dividingFullWidth((product.high, product.low)).quotient
    let magnitude = Int64(clamping: quotient)
    return Ticks(time.rawValue < 0 ? -magnitude : magnitude)
  }
}

extension TraceHeader {
  /// The header in `bytes` (the first bytes of a file), and how many bytes it takes.
  static func parse(_ bytes: UnsafeRawBufferPointer) throws(TraceError.Place) -> (header: TraceHeader, length: Int) {
    guard bytes.count > 0 else { throw TraceError.Place(0, .empty) }
    let known = min(bytes.count, magic.count)
    guard bytes.prefix(known).elementsEqual(magic.prefix(known)) else { throw TraceError.Place(0, .notATrace) }
    guard bytes.count >= byteCount else { throw TraceError.Place(bytes.count, .cutHeader) }
    func field<N: FixedWidthInteger>(_ offset: Int, _ type: N.Type) -> N {
      N(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: N.self))
    }
    let version = field(8, UInt16.self)
    guard version <= major else { throw TraceError.Place(8, .newerVersion(version)) }
    guard version == major else { throw TraceError.Place(8, .damagedHeader("version \(version)")) }
    let sum = field(60, UInt32.self)
    // Zero: a writer that makes no checksum of the header.
    if sum != 0 && sum != CRC32C.of(UnsafeRawBufferPointer(rebasing: bytes[0..<60])) {
      throw TraceError.Place(60, .damagedHeader("its checksum is wrong"))
    }
    let length = Int(field(12, UInt32.self))
    guard (byteCount...1 << 16).contains(length) else {
      throw TraceError.Place(12, .damagedHeader("a header of \(length) bytes"))
    }
    var header = TraceHeader()
    header.minor = field(10, UInt16.self)
    header.clock = bytes[16]
    header.architecture = bytes[17]
    header.capture = bytes[18]
    header.door = bytes[19]
    header.pageSize = field(20, UInt32.self)
    header.ticksPerSecond = field(24, UInt64.self)
    header.startTicks = field(32, UInt64.self)
    header.startRealtime = field(40, UInt64.self)
    header.pid = field(48, UInt32.self)
    header.parentPID = field(52, UInt32.self)
    header.ticksPerUnit = field(56, UInt32.self)
    guard header.ticksPerSecond > 0 else { throw TraceError.Place(24, .damagedHeader("a clock without rate")) }
    guard header.ticksPerUnit > 0 else { throw TraceError.Place(56, .damagedHeader("a time unit of 0 ticks")) }
    return (header, length)
  }

  /// The header's bytes.
  func encoded() -> [UInt8] {
    var writer = ByteWriter(bytes: TraceHeader.magic)
    writer.fixed(TraceHeader.major)
    writer.fixed(minor)
    writer.fixed(UInt32(TraceHeader.byteCount))
    writer.bytes += [clock, architecture, capture, door]
    writer.fixed(pageSize)
    writer.fixed(ticksPerSecond)
    writer.fixed(startTicks)
    writer.fixed(startRealtime)
    writer.fixed(pid)
    writer.fixed(parentPID)
    writer.fixed(ticksPerUnit)
    writer.fixed(CRC32C.of(writer.bytes))
    return writer.bytes
  }
}

extension TraceError {
  /// An error of which the file's name is not known yet: thrown by what sees bytes alone.
  struct Place: Error {
    let offset: UInt64
    let problem: Problem
    init(_ offset: Int, _ problem: Problem) {
      self.offset = UInt64(offset)
      self.problem = problem
    }
  }
}
