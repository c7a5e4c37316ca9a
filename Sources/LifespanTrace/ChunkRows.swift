// The rows of one chunk as a value: what Trace collects, `dump` prints and TraceWriter takes.
import CTraceFormat

/// The rows of any chunk but EVENTS.
public enum ChunkRows: Sendable, Hashable {
  /// INFO.
  case info([InfoRecord])
  /// IMAGES.
  case images([ImageRecord])
  /// STACKS.
  case stacks([StackNode])
  /// TYPES.
  case types([TypeRecord])
  /// THREADS.
  case threads([ThreadRecord])
  /// SITES.
  case sites([SiteRecord])
  /// MARKS.
  case marks([MarkRecord])
  /// GAPS.
  case gaps([GapRecord])
  /// TASKS.
  case tasks([TaskRecord])
  /// TOTALS.
  case totals([TotalRecord])
  /// RECORDING.
  case recording([RecordingRecord])
  /// END.
  case end([EndRecord])
  /// SAMPLES.
  case samples([SampleRecord])
  /// THREAD_ORIGINS.
  case threadOrigins([ThreadOriginRecord])

  /// The kind of chunk that holds them.
  public var kind: ChunkKind {
    switch self {
    case .info: .info
    case .images: .images
    case .stacks: .stacks
    case .types: .types
    case .threads: .threads
    case .sites: .sites
    case .marks: .marks
    case .gaps: .gaps
    case .tasks: .tasks
    case .totals: .totals
    case .recording: .recording
    case .end: .end
    case .samples: .samples
    case .threadOrigins: .threadOrigins
    }
  }

  /// All rows of a payload, or none: a chunk that breaks in the middle counts as not read. Nil for EVENTS.
  init?(_ kind: ChunkKind, _ payload: UnsafeRawBufferPointer) throws(PayloadFailure) {
    switch kind {
    case .info: self = .info(try ChunkRows.decode(payload))
    case .images: self = .images(try ChunkRows.decode(payload))
    case .stacks: self = .stacks(try ChunkRows.decode(payload))
    case .types: self = .types(try ChunkRows.decode(payload))
    case .threads: self = .threads(try ChunkRows.decode(payload))
    case .sites: self = .sites(try ChunkRows.decode(payload))
    case .marks: self = .marks(try ChunkRows.decode(payload))
    case .gaps: self = .gaps(try ChunkRows.decode(payload))
    case .tasks: self = .tasks(try ChunkRows.decode(payload))
    case .totals: self = .totals(try ChunkRows.decode(payload))
    case .recording: self = .recording(try ChunkRows.decode(payload))
    case .end: self = .end(try ChunkRows.decode(payload))
    case .samples: self = .samples(try ChunkRows.decode(payload))
    case .threadOrigins: self = .threadOrigins(try ChunkRows.decode(payload))
    default: return nil
    }
  }

  private static func decode<Row: ChunkRow>(_ payload: UnsafeRawBufferPointer) throws(PayloadFailure) -> [Row] {
    let tag = UInt8(LIFESPAN_COLUMN_ROWS)
    guard let bytes = try Columns(payload, known: [tag])[tag] else { throw .damaged("no rows") }
    var rows: [Row] = []
    do throws(Malformed) {
      var reader = ByteReader(bytes)
      let count = try reader.varint()
      // Every row takes bytes, so a count that is only claimed ends at the payload's end.
      while UInt64(rows.count) < count { rows.append(try Row(from: &reader, previous: rows.last)) }
      guard reader.isAtEnd else { throw Malformed("bytes after the last row") }
    } catch {
      throw .malformed(error)
    }
    return rows
  }

  /// The payload of these rows.
  func encoded() -> [UInt8] {
    switch self {
    case .info(let rows): ChunkRows.encode(rows)
    case .images(let rows): ChunkRows.encode(rows)
    case .stacks(let rows): ChunkRows.encode(rows)
    case .types(let rows): ChunkRows.encode(rows)
    case .threads(let rows): ChunkRows.encode(rows)
    case .sites(let rows): ChunkRows.encode(rows)
    case .marks(let rows): ChunkRows.encode(rows)
    case .gaps(let rows): ChunkRows.encode(rows)
    case .tasks(let rows): ChunkRows.encode(rows)
    case .totals(let rows): ChunkRows.encode(rows)
    case .recording(let rows): ChunkRows.encode(rows)
    case .end(let rows): ChunkRows.encode(rows)
    case .samples(let rows): ChunkRows.encode(rows)
    case .threadOrigins(let rows): ChunkRows.encode(rows)
    }
  }

  private static func encode<Row: ChunkRow>(_ rows: [Row]) -> [UInt8] {
    var writer = ByteWriter()
    writer.varint(UInt64(rows.count))
    var previous: Row?
    for row in rows {
      row.write(to: &writer, previous: previous)
      previous = row
    }
    var payload = ByteWriter()
    payload.column(UInt8(LIFESPAN_COLUMN_ROWS), writer.bytes)
    return payload.bytes
  }
}
