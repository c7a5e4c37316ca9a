// Writes a trace in memory, chunk by chunk. Used by TraceBuilder and by whoever rewrites traces; the recorder's own
// writer is CDrain, in C.
import CZstd

/// Appends chunks to bytes. Does no output: the caller takes the bytes when it likes.
public struct TraceWriter {
  /// What has been written and not taken yet.
  public private(set) var bytes: [UInt8]
  private let codec: ChunkCodec
  private let level: Int32
  private var encoder: EventEncoder
  private var sites: [SiteRecord] = []

  /// Begins a trace. `leaving`: optional columns of events that are left out.
  public init(_ header: TraceHeader, codec: ChunkCodec = .none, level: Int32 = 3, leaving: EventColumns = []) {
    bytes = header.encoded()
    self.codec = codec
    self.level = level
    encoder = EventEncoder(header: header, leaving: leaving)
  }

  /// Takes the bytes written so far.
  public mutating func take() -> [UInt8] {
    defer { bytes = [] }
    return bytes
  }

  /// Writes one chunk of rows.
  public mutating func write(_ rows: ChunkRows) {
    if case .sites(let more) = rows { sites += more }
    append(rows.kind, rows.encoded())
  }

  /// Index that the next event will have.
  public var nextEvent: UInt64 { encoder.nextEvent }
  /// Events added and not written yet.
  public var pendingEvents: Int { encoder.pending }

  /// Adds an event to the open EVENTS chunk. A birth's site must have been written, and its serial be larger than the last.
  public mutating func add(_ event: TraceEvent) {
    let site = event.site.flatMap { $0.rawValue < UInt32(sites.count) ? sites[Int($0.rawValue)] : nil }
    encoder.add(event, site: site)
  }

  /// From the next event on, births belong to that generation unless they say another.
  public mutating func beginGeneration(_ generation: Generation) { encoder.beginGeneration(generation) }

  /// Writes the open EVENTS chunk, if it has events.
  public mutating func flushEvents() {
    if let payload = encoder.takePayload() { append(.events, payload) }
  }

  /// Writes a chunk of any kind as it is given: also what no reader knows.
  public mutating func append(_ kind: ChunkKind, _ payload: [UInt8], version: UInt8 = 1, flags: UInt8 = 0) {
    var stored = payload
    var used = ChunkCodec.none
    if codec == .zstd, let small = compress(payload) {
      stored = small
      used = .zstd
    }
    let header = ChunkHeader(
      kind: kind, version: version, codec: used.rawValue, flags: flags, rawLength: UInt32(payload.count),
      storedLength: UInt32(stored.count), checksum: CRC32C.of(stored))
    bytes += header.encoded()
    bytes += stored
  }

  /// Nil where zstd fails: the chunk is then stored as it is.
  private func compress(_ payload: [UInt8]) -> [UInt8]? {
    let room = ZSTD_compressBound(payload.count)
    var failed = false
    let small = [UInt8](unsafeUninitializedCapacity: room) { target, count in
      let size = payload.withUnsafeBytes { ZSTD_compress(target.baseAddress, room, $0.baseAddress, $0.count, level) }
      failed = ZSTD_isError(size) != 0
      count = failed ? 0 : size
    }
    return failed ? nil : small
  }
}
