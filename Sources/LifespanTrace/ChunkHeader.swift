// The 24 bytes in front of every chunk, and the kinds of chunks. Read by TraceReader, written by TraceWriter.
import CTraceFormat

/// What a chunk holds.
public struct ChunkKind: TraceIdentifier {
  /// The number in the file.
  public let rawValue: UInt8
  /// Wraps a number.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Pairs of text about the recording.
  public static let info = ChunkKind(UInt8(LIFESPAN_CHUNK_INFO.rawValue))
  /// The load map.
  public static let images = ChunkKind(UInt8(LIFESPAN_CHUNK_IMAGES.rawValue))
  /// Nodes of the stack tree.
  public static let stacks = ChunkKind(UInt8(LIFESPAN_CHUNK_STACKS.rawValue))
  /// Types.
  public static let types = ChunkKind(UInt8(LIFESPAN_CHUNK_TYPES.rawValue))
  /// Threads.
  public static let threads = ChunkKind(UInt8(LIFESPAN_CHUNK_THREADS.rawValue))
  /// Birth sites.
  public static let sites = ChunkKind(UInt8(LIFESPAN_CHUNK_SITES.rawValue))
  /// Events.
  public static let events = ChunkKind(UInt8(LIFESPAN_CHUNK_EVENTS.rawValue))
  /// Marks.
  public static let marks = ChunkKind(UInt8(LIFESPAN_CHUNK_MARKS.rawValue))
  /// Holes.
  public static let gaps = ChunkKind(UInt8(LIFESPAN_CHUNK_GAPS.rawValue))
  /// Tasks and their parents.
  public static let tasks = ChunkKind(UInt8(LIFESPAN_CHUNK_TASKS.rawValue))
  /// Sums of what was discarded.
  public static let totals = ChunkKind(UInt8(LIFESPAN_CHUNK_TOTALS.rawValue))
  /// Recording paused and going on.
  public static let recording = ChunkKind(UInt8(LIFESPAN_CHUNK_RECORDING.rawValue))
  /// The end's counters.
  public static let end = ChunkKind(UInt8(LIFESPAN_CHUNK_END.rawValue))
  /// Resident memory against what lives.
  public static let samples = ChunkKind(UInt8(LIFESPAN_CHUNK_SAMPLES.rawValue))
  /// Who made the threads.
  public static let threadOrigins = ChunkKind(UInt8(LIFESPAN_CHUNK_THREAD_ORIGINS.rawValue))

  /// A picture of the heap: its head.
  public static let heap = ChunkKind(UInt8(LIFESPAN_CHUNK_HEAP.rawValue))
  /// Its blocks.
  public static let heapNodes = ChunkKind(UInt8(LIFESPAN_CHUNK_HEAP_NODES.rawValue))
  /// Who refers to whom.
  public static let heapEdges = ChunkKind(UInt8(LIFESPAN_CHUNK_HEAP_EDGES.rawValue))
  /// What holds blocks from outside.
  public static let heapRoots = ChunkKind(UInt8(LIFESPAN_CHUNK_HEAP_ROOTS.rawValue))
  /// Its texts.
  public static let heapNames = ChunkKind(UInt8(LIFESPAN_CHUNK_HEAP_NAMES.rawValue))

  private static let names = [
    "0", "INFO", "IMAGES", "STACKS", "TYPES", "THREADS", "SITES", "EVENTS", "MARKS", "GAPS", "TASKS", "TOTALS",
    "RECORDING", "END", "SAMPLES", "THREAD_ORIGINS", "HEAP", "HEAP_NODES", "HEAP_EDGES", "HEAP_ROOTS", "HEAP_NAMES",
  ]
  /// Whether this version reads it.
  public var isKnown: Bool { (1..<ChunkKind.names.count).contains(Int(rawValue)) }
  /// Whether it is a part of a picture of the heap.
  public var isHeap: Bool { self >= .heap && self <= .heapNames }
  /// The name in TraceFormat.md, or the number.
  public var description: String { isKnown ? ChunkKind.names[Int(rawValue)] : String(rawValue) }
}

/// How a chunk's payload is stored.
public enum ChunkCodec: UInt8, Sendable, Codable, Hashable {
  /// As it is.
  case none = 0
  /// One zstd frame.
  case zstd = 1
}

/// The header of a chunk.
public struct ChunkHeader: Sendable, Hashable {
  /// What it holds.
  public var kind: ChunkKind
  /// Version of the kind.
  public var version: UInt8 = 1
  /// How the payload is stored (see `ChunkCodec`).
  public var codec: UInt8
  /// Bit 0: a reader that does not know the kind must refuse the file.
  public var flags: UInt8 = 0
  /// Bytes of the payload.
  public var rawLength: UInt32
  /// Bytes that follow the header.
  public var storedLength: UInt32
  /// CRC-32C of those.
  public var checksum: UInt32

  /// Bytes of a chunk header.
  public static let byteCount = Int(LIFESPAN_CHUNK_HEADER_BYTES)
  /// The largest payload.
  public static let rawLimit = Int(LIFESPAN_CHUNK_LIMIT)
  /// The largest stored length: what zstd may need for a payload that does not compress.
  static let storedLimit = rawLimit + rawLimit >> 8 + 1024
  static let magic = UInt32(LIFESPAN_CHUNK_MAGIC)

  var mustBeUnderstood: Bool { flags & UInt8(LIFESPAN_CHUNK_MUST_UNDERSTAND) != 0 }

  /// The header in 24 bytes.
  static func parse(_ bytes: UnsafeRawBufferPointer) throws(Malformed) -> ChunkHeader {
    func field(_ offset: Int) -> UInt32 {
      UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
    guard bytes.count >= byteCount else { throw Malformed("a chunk header is cut") }
    guard field(0) == magic else { throw Malformed("no chunk begins here") }
    guard field(20) == CRC32C.of(UnsafeRawBufferPointer(rebasing: bytes[0..<20])) else {
      throw Malformed("the checksum of a chunk header is wrong")
    }
    let header = ChunkHeader(
      kind: ChunkKind(bytes[4]), version: bytes[5], codec: bytes[6], flags: bytes[7], rawLength: field(8),
      storedLength: field(12), checksum: field(16))
    guard header.rawLength <= UInt32(rawLimit), header.storedLength <= UInt32(storedLimit) else {
      throw Malformed("a chunk of \(header.rawLength) bytes, \(header.storedLength) stored, is over the limit")
    }
    return header
  }

  /// The header's bytes.
  func encoded() -> [UInt8] {
    var writer = ByteWriter()
    writer.fixed(ChunkHeader.magic)
    writer.bytes += [kind.rawValue, version, codec, flags]
    writer.fixed(rawLength)
    writer.fixed(storedLength)
    writer.fixed(checksum)
    writer.fixed(CRC32C.of(writer.bytes))
    return writer.bytes
  }
}
