// An opened trace: every table of the file, read once, and its EVENTS chunks for as many passes as wanted.
// Made by the command from a path, used by LifespanAnalysis and the reports.

/// A trace: its tables in memory, its events in the file.
///
/// Opening reads the whole file once (checksums of all chunks, tables decoded, events left alone), at about 1 GB/s.
/// Memory: the tables. A file that grows meanwhile is seen as it was when it was opened.
public final class Trace {
  /// What to call it in messages: the path.
  public let name: String
  /// The header.
  public let header: TraceHeader
  /// Where and why reading stopped. An events pass may move it to the front, to a chunk that is damaged inside.
  public private(set) var ending: TraceEnding
  /// Pairs of the INFO chunks; the last value of each key.
  public private(set) var info: [String: String] = [:]
  /// The load map.
  public private(set) var images = ImageMap()
  /// The stack tree.
  public private(set) var stacks = StackTable()
  /// Types in the order of the file.
  public private(set) var types: [TypeRecord] = []
  /// Threads as they were seen, renamed and gone, in the order of the file.
  public private(set) var threads: [ThreadRecord] = []
  /// Who made the threads.
  public private(set) var threadOrigins: [ThreadOriginRecord] = []
  /// Resident memory against what lives, oldest first.
  public private(set) var samples: [SampleRecord] = []
  /// Birth sites by number.
  public private(set) var sites: [SiteRecord] = []
  /// Marks, by the generation that they close.
  public private(set) var marks: [MarkRecord] = []
  /// Holes.
  public private(set) var gaps: [GapRecord] = []
  /// Tasks' parents.
  public private(set) var tasks: [TaskRecord] = []
  /// Sums of what was discarded.
  public private(set) var totals: [TotalRecord] = []
  /// When the recording was paused and went on.
  public private(set) var recording: [RecordingRecord] = []
  /// Counters of the END chunk; nil without one.
  public private(set) var end: [String: UInt64]?

  /// Whether blocks of malloc in it may turn out to be objects later than at their birth. True where that is not known.
  public var knowsTypesLate: Bool {
    guard info["malloc"] == "all" else { return false }
    return end.map { $0["retyped", default: 0] > 0 } ?? true
  }

  /// Pictures of the heap, oldest first: their heads. `heapGraph(_:)` reads one.
  public private(set) var heapPictures: [HeapGraph.Head] = []

  private var reader: TraceReader
  private var heapChunks: [[TraceReader.Chunk]] = []
  private var eventChunks: [TraceReader.Chunk] = []
  // Raw bytes of all tables together: what a file may make us keep. 10 million stack nodes take 60 MB.
  private static let tableLimit = 512 << 20
  private var tableBytes = 0

  /// Reads a trace from a file.
  public convenience init(path: String) throws(TraceError) { try self.init(TraceFile(path: path)) }

  /// Reads a trace from anywhere.
  public init(_ bytes: any TraceBytes) throws(TraceError) {
    name = bytes.name
    reader = try TraceReader(bytes)
    header = reader.header
    ending = reader.ending
    var loads: [ImageRecord] = []
    while let chunk = try reader.next() {
      if chunk.header.kind == .events {
        eventChunks.append(chunk)
      } else if chunk.header.kind.isHeap {
        try noteHeap(chunk)
      } else {
        try readTable(chunk, &loads)
      }
    }
    ending = reader.ending
    images.add(loads)
    marks.sort { $0.closes < $1.closes }
  }

  private func readTable(_ chunk: TraceReader.Chunk, _ loads: inout [ImageRecord]) throws(TraceError) {
    guard let payload = reader.payload() else { return }
    tableBytes += payload.count
    guard tableBytes <= Trace.tableLimit else {
      reader.stop(at: chunk, "tables of more than \(Trace.tableLimit >> 20) MiB")
      return
    }
    do throws(PayloadFailure) {
      if let rows = try ChunkRows(chunk.header.kind, payload) { take(rows, &loads) }
    } catch {
      try fail(chunk, error)
    }
  }

  private func take(_ rows: ChunkRows, _ loads: inout [ImageRecord]) {
    switch rows {
    case .info(let rows): for pair in rows { info[pair.key] = pair.value }
    case .images(let rows): loads += rows
    case .stacks(let rows): for node in rows { stacks.add(node) }
    case .types(let rows): types += rows
    case .threads(let rows): threads += rows
    case .sites(let rows): sites += rows
    case .marks(let rows): marks += rows
    case .gaps(let rows): gaps += rows
    case .tasks(let rows): tasks += rows
    case .totals(let rows): totals += rows
    case .recording(let rows): recording += rows
    case .end(let rows): end = (end ?? [:]).merging(rows.map { ($0.key, $0.value) }) { $1 }
    case .samples(let rows): samples += rows
    case .threadOrigins(let rows): threadOrigins += rows
    }
  }

  private func fail(_ chunk: TraceReader.Chunk, _ failure: PayloadFailure) throws(TraceError) {
    switch failure {
    case .malformed(let malformed):
      reader.stop(at: chunk, "\(chunk.header.kind): \(malformed.what)")
    case .unknownColumn(let tag):
      throw TraceError(
        file: name, offset: chunk.offset, problem: .needsNewerReader("column \(tag) of \(chunk.header.kind)"))
    }
  }

  /// Goes through all events in the order of the recording, a batch at a time. A batch is valid within `use` only.
  ///
  /// Columns that are not asked for are not decoded. May be called again for another pass. When a chunk turns out to be
  /// damaged inside, the pass ends there and `ending` says so.
  /// Returns how many events and births that were.
  @discardableResult
  public func forEachBatch(
    _ columns: EventColumns, _ use: (EventBatch) -> Void
  ) throws(TraceError) -> (events: UInt64, births: UInt64) {
    let length = eventChunks.reduce(0) { $0 + UInt64($1.header.rawLength) }
    return try forEachBatch(columns, ahead: eventChunks.count > 2 && length >= Trace.aheadLength, use)
  }

  // Raw bytes of all events from which a second thread pays: about a millisecond's work.
  private static let aheadLength: UInt64 = 256 << 10

  /// `ahead`: decoded on a second thread, where one can be had. The batches are the same.
  func forEachBatch(
    _ columns: EventColumns, ahead: Bool, _ use: (EventBatch) -> Void
  ) throws(TraceError) -> (events: UInt64, births: UInt64) {
    let decoder = EventDecoder(columns: columns, header: header, sites: sites, marks: marks)
    if ahead, let thread = DecodingAhead(decoder) {
      defer { withExtendedLifetime(thread) {} }
      do throws(TraceError) {
        try pass(thread, use)
        thread.stop()
      } catch {
        thread.stop()
        throw error
      }
      return (decoder.events, decoder.births)
    }
    for expected in eventChunks {
      guard let chunk = try read(expected) else { break }
      guard try decode(chunk, with: decoder, use) else { break }
    }
    return (decoder.events, decoder.births)
  }

  /// Reads an EVENTS chunk again; nil where that can't be done any more: `ending` then says why.
  private func read(_ expected: TraceReader.Chunk) throws(TraceError) -> TraceReader.Chunk? {
    reader.seek(to: expected)
    if let chunk = try reader.next(), chunk == expected { return chunk }
    ending = reader.ending.reason == .whole ? TraceEnding(offset: expected.offset, reason: .cut) : reader.ending
    return nil
  }

  /// Two chunks are with the thread: one that it decodes, and the one after that. A file that can't be read further ends the
  /// pass behind what was read before, as it would without the thread.
  private func pass(_ thread: DecodingAhead, _ use: (EventBatch) -> Void) throws(TraceError) {
    var under: [TraceReader.Chunk] = []
    var next = 0
    var trouble: TraceError?
    func submit() {
      guard next < eventChunks.count, trouble == nil else { return }
      do throws(TraceError) {
        guard let chunk = try read(eventChunks[next]), let stored = reader.storedPayload() else {
          next = eventChunks.count
          return
        }
        thread.submit(chunk.header, stored)
        under.append(chunk)
        next += 1
      } catch {
        trouble = error
      }
    }
    submit()
    submit()
    while let chunk = under.first {
      switch thread.next() {
      case .batch(let batch): use(batch)
      case .chunkEnd:
        under.removeFirst()
        submit()
      case .failed(let failure):
        try fail(chunk, failure)
        ending = reader.ending
        return
      }
    }
    if let trouble { throw trouble }
  }

  private func decode(
    _ chunk: TraceReader.Chunk, with decoder: EventDecoder, _ use: (EventBatch) -> Void
  ) throws(TraceError) -> Bool {
    guard let payload = reader.payload() else {
      ending = reader.ending
      return false
    }
    do throws(PayloadFailure) {
      try decoder.begin(payload)
      while try decoder.next() { use(decoder.batch) }
      return true
    } catch {
      try fail(chunk, error)
      ending = reader.ending
      return false
    }
  }

  /// Of a picture only the head is read now: few questions want the rest.
  private func noteHeap(_ chunk: TraceReader.Chunk) throws(TraceError) {
    guard chunk.header.kind == .heap else {
      // Behind no head: the rest of a picture whose beginning was left out.
      if !heapChunks.isEmpty { heapChunks[heapChunks.count - 1].append(chunk) }
      return
    }
    guard let payload = reader.payload() else { return }
    do throws(PayloadFailure) {
      guard case .head(let head, _)? = try HeapChunk(.heap, payload) else { return }
      heapPictures.append(head)
      heapChunks.append([chunk])
    } catch {
      try fail(chunk, error)
    }
  }

  // Raw bytes of one picture: what a file may make us keep. 10 million objects take about 400 MiB.
  private static let heapLimit = 4 << 30

  /// Reads the picture of that place in `heapPictures`. Nil where it is not whole: the file ends in it, or it is damaged (see
  /// `ending`). Memory: the picture.
  public func heapGraph(_ place: Int) throws(TraceError) -> HeapGraph? {
    var made: HeapGraphReader?
    var bytes = 0
    for expected in heapChunks[place] {
      reader.seek(to: expected)
      guard let chunk = try reader.next(), chunk == expected, let payload = reader.payload() else {
        ending = reader.ending.reason == .whole ? TraceEnding(offset: expected.offset, reason: .cut) : reader.ending
        return nil
      }
      bytes += payload.count
      do throws(PayloadFailure) {
        guard bytes <= Trace.heapLimit else { throw .damaged("a picture of more than \(Trace.heapLimit >> 30) GiB") }
        try Trace.take(try HeapChunk(chunk.header.kind, payload), &made)
      } catch {
        try fail(chunk, error)
        ending = reader.ending
        return nil
      }
    }
    return made?.finish()
  }

  private static func take(_ chunk: HeapChunk?, _ reader: inout HeapGraphReader?) throws(PayloadFailure) {
    guard let chunk else { return }
    if case .head(let head, let counts) = chunk {
      reader = HeapGraphReader(head, counts)
      return
    }
    guard reader?.graph.head.number == chunk.picture else { throw .damaged("a part of another picture") }
    do throws(Malformed) {
      try reader?.take(chunk)
    } catch {
      throw .malformed(error)
    }
  }

  /// A part of the file, for `dump`.
  public enum Part {
    /// A chunk of rows.
    case rows(ChunkRows)
    /// Some events of an EVENTS chunk, with every column. Valid within the call.
    case events(EventBatch)
    /// A part of a picture of the heap.
    case heap(HeapChunk)
  }

  /// Goes through the whole file in its own order.
  public func forEachPart(_ use: (TraceReader.Chunk, Part) -> Void) throws(TraceError) {
    let decoder = EventDecoder(columns: .all, header: header, sites: sites, marks: marks)
    reader.rewind()
    while let chunk = try reader.next(), chunk.offset < ending.offset {
      if chunk.header.kind == .events {
        guard try decode(chunk, with: decoder, { use(chunk, .events($0)) }) else { return }
      } else if let payload = reader.payload() {
        do throws(PayloadFailure) {
          if let rows = try ChunkRows(chunk.header.kind, payload) { use(chunk, .rows(rows)) }
          if let part = try HeapChunk(chunk.header.kind, payload) { use(chunk, .heap(part)) }
        } catch {
          try fail(chunk, error)
          ending = reader.ending
        }
      }
    }
  }
}
