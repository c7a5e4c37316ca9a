// Decodes EVENTS chunks into batches: the reader's hot path. Driven by Trace.forEachBatch.
//
// Column by column over at most 4,096 events, so that every column's cursor stays in registers and the batch in the
// cache. Nothing is allocated per event. Everything comes out of a file: each length, count, index and reference is
// checked, sums wrap instead of trapping.
import CTraceFormat

/// The state between the events of one pass over a trace.
final class EventDecoder {
  var batch: EventBatch
  let columns: EventColumns
  let sites: [SiteRecord]
  let ticksPerUnit: Int64
  private(set) var buffers = EventBuffers()

  // Of the recording.
  private var runs = SerialRuns()
  let boundaries: [(firstEvent: UInt64, generation: UInt32)]
  lazy var addresses = AddressDecoder(sites: sites)

  /// Events decoded so far.
  private(set) var events: UInt64 = 0
  /// Births decoded so far.
  var births: UInt64 { UInt64(runs.births) }

  // Of the chunk.
  private(set) var done = 0
  private var total = 0
  private var firstIndex: UInt64 = 0
  private var kinds = UnsafeRawBufferPointer(start: nil, count: 0)
  private var siteCursor = VarintCursor.empty
  private var objectCursor = VarintCursor.empty
  private var serialCursor: VarintCursor?
  var chunk = ChunkColumns()

  init(columns: EventColumns, header: TraceHeader, sites: [SiteRecord], marks: [MarkRecord]) {
    self.columns = columns
    self.sites = sites
    ticksPerUnit = Int64(header.ticksPerUnit)
    var newest: UInt32 = 0
    boundaries = marks.sorted { $0.firstEvent < $1.firstEvent }.map { mark in
      newest = max(newest, mark.closes.rawValue == UInt32.max ? UInt32.max : mark.closes.rawValue + 1)
      return (mark.firstEvent, newest)
    }
    batch = buffers.batch
  }

  /// Decodes the next batches into this memory.
  func use(_ buffers: EventBuffers) {
    self.buffers = buffers
    batch = buffers.batch
  }

  private static let known = Set<UInt8>([
    0x81, 0x82, 0x03, 0x04, 0x85, 0x86, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x8d, 0x8f,
  ])

  /// Begins a chunk. The payload must stay alive until `next` has returned false.
  func begin(_ payload: UnsafeRawBufferPointer) throws(PayloadFailure) {
    let columns = try Columns(payload, known: EventDecoder.known)
    guard let headBytes = columns[UInt8(LIFESPAN_COLUMN_HEAD.rawValue)],
      let kinds = columns[UInt8(LIFESPAN_COLUMN_KINDS.rawValue)]
    else { throw .damaged("no head or no kinds") }
    do throws(Malformed) {
      var head = ByteReader(headBytes)
      firstIndex = try head.varint()
      let count = try head.varint()
      guard count == UInt64(kinds.count) else { throw Malformed("\(count) events, but \(kinds.count) kinds") }
      let serialBefore = try head.varint()
      guard serialBefore >= runs.newest, serialBefore < EventDecoder.serialLimit else {
        throw Malformed("serial \(serialBefore) before the chunk, but \(runs.newest) was there already")
      }
      runs.skip(to: serialBefore)
      chunk = ChunkColumns(columns, baseTime: try head.zigzag())
    } catch {
      throw .malformed(error)
    }
    self.kinds = kinds
    total = kinds.count
    done = 0
    siteCursor = VarintCursor(columns[UInt8(LIFESPAN_COLUMN_SITES.rawValue)] ?? .nothing)
    objectCursor = VarintCursor(columns[UInt8(LIFESPAN_COLUMN_OBJECTS.rawValue)] ?? .nothing)
    serialCursor = columns[UInt8(LIFESPAN_COLUMN_SERIALS.rawValue)].map { VarintCursor($0) }
    if self.columns.contains(.addresses) { addresses.beginChunk() }
  }

  /// No recording has so many births; sums below it can't overflow.
  private static let serialLimit: UInt64 = 1 << 62

  /// Decodes the next batch; false at the end of the chunk.
  func next() throws(PayloadFailure) -> Bool {
    let count = min(EventBatch.capacity, total - done)
    guard count > 0, let base = kinds.baseAddress else {
      try finish()
      return false
    }
    batch.kinds = base.assumingMemoryBound(to: UInt8.self) + done
    batch.count = count
    batch.firstIndex = firstIndex &+ UInt64(done)
    try decodeObjects(count)
    if chunk.moves == nil, batch.holds(.moved) { throw .damaged("moves, but no column of them") }
    if columns.contains(.times) { decodeTimes(count) }
    if columns.contains(.threads) { decodeThreads(count) }
    if columns.contains(.tasks) { decodeTasks(count) }
    if columns.contains(.generations) { decodeGenerations(count) }
    if columns.contains(.stacks) { decodeStacks(count) }
    if columns.contains(.amounts) { decodeAmounts(count) }
    if chunk.moves != nil, columns.contains(.moves) || columns.contains(.addresses) { decodeMoves(count) }
    if columns.contains(.addresses) { decodeAddresses(count) }
    if let name = chunk.failed { throw .damaged("column \(name) is damaged near event \(batch.firstIndex)") }
    done += count
    events &+= UInt64(count)
    return true
  }

  private func finish() throws(PayloadFailure) {
    guard siteCursor.isAtEnd, objectCursor.isAtEnd, serialCursor?.isAtEnd ?? true else {
      throw .damaged("more sites, objects or serials than events")
    }
    if let name = chunk.leftOver(columns) { throw .damaged("column \(name) holds more than its events") }
  }

  /// Sites of births and objects of all events: what every question needs.
  private func decodeObjects(_ count: Int) throws(PayloadFailure) {
    // Taken out of self, so that the loop works on locals; given back at the end.
    var runs = SerialRuns()
    swap(&runs, &self.runs)
    var siteCursor = self.siteCursor
    var objectCursor = self.objectCursor
    var serialCursor = self.serialCursor ?? .empty
    let hasSerials = self.serialCursor != nil
    defer {
      swap(&runs, &self.runs)
      self.siteCursor = siteCursor
      self.objectCursor = objectCursor
      if hasSerials { self.serialCursor = serialCursor }
    }
    let kinds = batch.kinds
    let objects = buffers.objects
    let sites = buffers.sites
    let siteCount = UInt64(self.sites.count)
    var good = true
    var seen: UInt64 = 0
    for index in 0..<count {
      let kind = kinds[index] & 0x3f
      seen |= 1 &<< UInt64(kind)
      if kind == 1 {
        let site = siteCursor.varint()
        good = good && site < siteCount
        if hasSerials { good = EventDecoder.skipSerials(&runs, &serialCursor) && good }
        sites[index] = UInt32(truncatingIfNeeded: site)
        objects[index] = runs.birth()
      } else {
        let back = objectCursor.varint()
        good = good && back <= runs.newest
        let object = back == 0 ? EventBatch.unknownObject : runs.position(of: runs.newest &- back &+ 1)
        objects[index] = object
        // Of a negative number the bit that says so.
        seen |= UInt64(bitPattern: Int64(object)) & EventBatch.unknownObjects
      }
      // Looked at in the loop: what follows a bad reference must not run on with it.
      if !good { break }
    }
    batch.seen = seen
    guard good, !siteCursor.failed, !objectCursor.failed else {
      throw .damaged("a site or an object near event \(batch.firstIndex) is damaged")
    }
    if columns.contains(.serials) {
      for index in 0..<count { buffers.serials[index] = objects[index] < 0 ? 0 : runs.serial(at: objects[index]) }
    }
  }

  private static func skipSerials(_ runs: inout SerialRuns, _ cursor: inout VarintCursor) -> Bool {
    let gap = cursor.varint()
    guard !cursor.failed, gap < serialLimit, runs.newest + gap < serialLimit else { return false }
    if gap > 0 { runs.skip(to: runs.newest + gap) }
    return true
  }
}

extension UnsafeRawBufferPointer {
  /// No bytes.
  static var nothing: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }
}

extension VarintCursor {
  static var empty: VarintCursor { VarintCursor(.nothing) }
}
