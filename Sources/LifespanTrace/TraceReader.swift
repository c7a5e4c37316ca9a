// Reads a trace chunk by chunk from TraceBytes: the driver of the parsers in this module. Used by Trace, and by `dump`,
// which wants chunks as they stand.
import CZstd

/// Reads a trace's chunks in order and ends wherever the file ends.
///
/// ```swift
/// var reader = try TraceReader(TraceFile(path: "App.7.lifespan"))
/// while let chunk = try reader.next() { print(chunk.header.kind, chunk.offset) }
/// print(reader.ending.sentence)
/// ```
/// Memory: one stored and one raw chunk (together at most 130 MiB). Costs nothing per event.
public struct TraceReader {
  /// A chunk that is whole: its stored bytes match their checksum.
  public struct Chunk: Sendable, Hashable {
    /// Its header.
    public var header: ChunkHeader
    /// Where its header begins in the file.
    public var offset: UInt64
  }

  /// The trace's header.
  public let header: TraceHeader
  /// Where reading stopped; `whole` at the current offset until `next` has returned nil.
  public private(set) var ending: TraceEnding
  private let bytes: any TraceBytes
  private let buffers = ChunkBuffers()
  private let start: UInt64
  private var offset: UInt64
  private var current: Chunk?
  private var stopped = false
  private var sawEnd = false

  /// Reads the header.
  public init(_ bytes: any TraceBytes) throws(TraceError) {
    self.bytes = bytes
    let space = buffers.stored(TraceHeader.byteCount)
    let count = try bytes.read(at: 0, into: space)
    do throws(TraceError.Place) {
      let parsed = try TraceHeader.parse(UnsafeRawBufferPointer(rebasing: space[..<count]))
      header = parsed.header
      start = UInt64(parsed.length)
    } catch {
      throw TraceError(file: bytes.name, offset: error.offset, problem: error.problem)
    }
    offset = start
    ending = TraceEnding(offset: start, reason: .whole)
    if offset > UInt64(TraceHeader.byteCount), try bytes.read(at: offset - 1, into: buffers.stored(1)) < 1 {
      throw TraceError(file: bytes.name, offset: UInt64(count), problem: .cutHeader)
    }
  }

  /// The next whole chunk that this version knows; nil at the end, wherever and whyever that is (see `ending`).
  /// Throws only where the file must not be read at all.
  public mutating func next() throws(TraceError) -> Chunk? {
    while !stopped {
      guard let chunk = try readChunk() else {
        stopped = true
        return nil
      }
      offset += UInt64(ChunkHeader.byteCount) + UInt64(chunk.header.storedLength)
      ending.offset = offset
      current = chunk
      if chunk.header.kind.isKnown {
        sawEnd = chunk.header.kind == .end
        return chunk
      }
    }
    return nil
  }

  /// Goes to a chunk that `next` returned before, for another pass.
  public mutating func seek(to chunk: Chunk) {
    offset = chunk.offset
    current = nil
    stopped = false
  }

  /// Goes back to the first chunk.
  public mutating func rewind() {
    offset = start
    current = nil
    stopped = false
  }

  /// The payload of the chunk that `next` returned last, decompressed. Valid until the next call of `next`.
  /// Nil where it can't be decompressed: `ending` then says so, and nothing more is read.
  public mutating func payload() -> UnsafeRawBufferPointer? {
    guard let chunk = current else { return nil }
    let stored = buffers.storedBytes(Int(chunk.header.storedLength))
    if chunk.header.codec == ChunkCodec.none.rawValue { return stored }
    do throws(Malformed) {
      return try buffers.decompress(stored, rawLength: Int(chunk.header.rawLength))
    } catch {
      stop(at: chunk, error.what)
      return nil
    }
  }

  /// The same as it is stored, not decompressed.
  func storedPayload() -> UnsafeRawBufferPointer? {
    current.map { buffers.storedBytes(Int($0.header.storedLength)) }
  }

  /// Ends the reading in front of a chunk whose content turned out to be damaged.
  public mutating func stop(at chunk: Chunk, _ what: String) {
    ending = TraceEnding(offset: chunk.offset, reason: .damaged(what))
    stopped = true
    current = nil
  }

  private mutating func readChunk() throws(TraceError) -> Chunk? {
    let space = buffers.stored(ChunkHeader.byteCount)
    let count = try bytes.read(at: offset, into: space)
    guard count == ChunkHeader.byteCount else {
      let boundary: TraceEnding.Reason = sawEnd ? .whole : .unfinished
      ending = TraceEnding(offset: offset, reason: count == 0 ? boundary : .cut)
      return nil
    }
    let chunk: Chunk
    do throws(Malformed) {
      chunk = Chunk(header: try ChunkHeader.parse(UnsafeRawBufferPointer(space)), offset: offset)
    } catch {
      ending = TraceEnding(offset: offset, reason: .damaged(error.what))
      return nil
    }
    try refuseUnknown(chunk)
    let length = Int(chunk.header.storedLength)
    let start = offset + UInt64(ChunkHeader.byteCount)
    guard try holds(start, length) else {
      ending = TraceEnding(offset: offset, reason: .cut)
      return nil
    }
    let stored = buffers.stored(length)
    guard try bytes.read(at: start, into: stored) == length else {
      ending = TraceEnding(offset: offset, reason: .cut)
      return nil
    }
    guard CRC32C.of(UnsafeRawBufferPointer(stored)) == chunk.header.checksum else {
      ending = TraceEnding(offset: offset, reason: .damaged("the checksum of \(chunk.header.kind) is wrong"))
      return nil
    }
    if chunk.header.codec == ChunkCodec.none.rawValue && chunk.header.rawLength != chunk.header.storedLength {
      ending = TraceEnding(offset: offset, reason: .damaged("two lengths of one chunk"))
      return nil
    }
    return chunk
  }

  /// Whether the file has the chunk's last byte: asked before memory is taken for a length that is only claimed.
  private func holds(_ start: UInt64, _ length: Int) throws(TraceError) -> Bool {
    if length == 0 { return true }
    return try bytes.read(at: start + UInt64(length) - 1, into: buffers.stored(1)) == 1
  }

  private func refuseUnknown(_ chunk: Chunk) throws(TraceError) {
    let header = chunk.header
    let what: String
    if !header.kind.isKnown {
      guard header.mustBeUnderstood else { return }
      what = "a chunk of kind \(header.kind)"
    } else if header.version != 1 {
      what = "a chunk \(header.kind) of version \(header.version)"
    } else if ChunkCodec(rawValue: header.codec) == nil {
      what = "a compression of kind \(header.codec)"
    } else {
      return
    }
    throw TraceError(file: bytes.name, offset: chunk.offset, problem: .needsNewerReader(what))
  }
}

/// The two buffers that a reader uses again and again, and zstd's context.
final class ChunkBuffers {
  private var stored = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
  private var raw = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
  private var context: OpaquePointer?

  deinit {
    stored.deallocate()
    raw.deallocate()
    ZSTD_freeDCtx(context)
  }

  /// Space for so many stored bytes; what was in it is gone.
  func stored(_ count: Int) -> UnsafeMutableRawBufferPointer {
    ChunkBuffers.grow(&stored, to: count)
    return UnsafeMutableRawBufferPointer(rebasing: stored[..<count])
  }

  func storedBytes(_ count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: stored[..<count]) }

  func decompress(_ bytes: UnsafeRawBufferPointer, rawLength: Int) throws(Malformed) -> UnsafeRawBufferPointer {
    guard ZSTD_findFrameCompressedSize(bytes.baseAddress, bytes.count) == bytes.count else {
      throw Malformed("no zstd frame of that length")
    }
    // A frame that says its size is believed before memory is taken; one that doesn't is held to the header's length.
    let content = ZSTD_getFrameContentSize(bytes.baseAddress, bytes.count)
    guard content == UInt64(rawLength) || content == UInt64.max else {
      throw Malformed("a zstd frame of \(content) bytes where \(rawLength) are announced")
    }
    ChunkBuffers.grow(&raw, to: rawLength)
    if context == nil { context = ZSTD_createDCtx() }
    guard let context else { throw Malformed("no memory for zstd") }
    let size = ZSTD_decompressDCtx(context, raw.baseAddress, rawLength, bytes.baseAddress, bytes.count)
    guard ZSTD_isError(size) == 0, size == rawLength else { throw Malformed("its compressed bytes are damaged") }
    return UnsafeRawBufferPointer(rebasing: raw[..<rawLength])
  }

  private static func grow(_ buffer: inout UnsafeMutableRawBufferPointer, to count: Int) {
    guard buffer.count < count else { return }
    buffer.deallocate()
    buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 2 * 65_536), alignment: 16)
  }
}
