// A small language to write traces in tests: types, births, deaths, marks, as a recorder would have written them.
// Used by the tests of every target that reads traces.

/// Builds a trace event by event.
///
/// ```swift
/// var builder = TraceBuilder()
/// let node = builder.type("App.Node", size: 32)
/// let kept = builder.birth(node)
/// builder.death(builder.birth(node))
/// builder.mark("round")
/// let trace = try builder.trace()
/// ```
/// Time goes on by `step` ticks an event, addresses are given out as malloc does: the block of that size freed last first.
public struct TraceBuilder {
  /// Ticks from one event to the next.
  public var step: Int64 = 1000
  /// The time of the next event.
  public var now = Ticks(0)
  /// The thread of the next events.
  public var thread = ThreadID.main
  /// The task of the next events.
  public var task = TaskID.none
  /// Events of a chunk.
  public var chunkEvents = 65_536
  /// The INFO pairs.
  public var info: [InfoRecord] = [
    InfoRecord(key: "program", value: "/tmp/App"), InfoRecord(key: "capture", value: "complete"),
  ]
  /// The END pairs; nil writes no END, as a killed recorder.
  public var end: [EndRecord]? = [EndRecord(key: "clean", value: 1), EndRecord(key: "exit_status", value: 0)]

  private struct Living {
    var address: ObjectAddress
    var site: SiteRecord
  }

  private var writer: TraceWriter
  private var types: [TypeID: TypeRecord] = [:]
  private var siteNumbers: [SiteRecord: SiteID] = [:]
  private var lastSerial: UInt64 = 0
  private var lastNode = StackID.firstNode.rawValue - 1
  private var living: [SerialNumber: Living] = [:]
  private var freed: [ByteCount: [ObjectAddress]] = [:]
  private var fresh: UInt64 = 0x5000_0000_0000
  private var marks: [MarkRecord] = []

  /// Begins a trace with that header.
  public init(_ header: TraceHeader = TraceHeader(), codec: ChunkCodec = .none, leaving: EventColumns = []) {
    writer = TraceWriter(header, codec: codec, leaving: leaving)
  }

  /// Writes a chunk of rows as given. It stands before the events that are still to be written.
  public mutating func rows(_ rows: ChunkRows) { writer.write(rows) }

  /// Writes a picture of the heap.
  public mutating func heap(_ graph: HeapGraph, length: Int = HeapGraph.chunkLength) {
    graph.forEachChunk(length: length) { writer.append($0, $1) }
  }

  /// Adds a type.
  public mutating func type(
    _ name: String, kind: ObjectKind = .classInstance, size: UInt64 = 32, caller: UInt64 = 0, tracked: Bool = false,
    superclass: TypeID = TypeID(0)
  ) -> TypeID {
    let record = TypeRecord(
      id: TypeID(UInt32(types.count + 1)), kind: kind, superclass: superclass, metadata: 0x1000 + UInt64(types.count),
      instanceSize: size, caller: ReturnAddress(caller), flags: tracked ? 1 : 0, name: name)
    types[record.id] = record
    rows(.types([record]))
    return record.id
  }

  /// Adds a stack, innermost return address first; its id.
  public mutating func stack(_ addresses: UInt64..., epoch: UInt32 = 0, end: StackEnd = .whole) -> StackID {
    var parent = StackID.none
    var nodes: [StackNode] = []
    for address in addresses.reversed() {
      lastNode += 1
      let label = parent == .none ? end : .whole
      nodes.append(
        StackNode(id: StackID(lastNode), parent: parent, pc: ReturnAddress(address), epoch: Epoch(epoch), end: label))
      parent = StackID(lastNode)
    }
    rows(.stacks(nodes))
    return parent
  }

  /// Names a thread.
  public mutating func thread(_ number: UInt32, name: String) -> ThreadID {
    rows(.threads([ThreadRecord(thread: ThreadID(number), tid: 100 + number, time: now, name: name)]))
    return ThreadID(number)
  }

  /// An object is born. `at` an older time than marks that were set already: a late birth, which belongs to the generation
  /// of its time. `skipping`: so many births before it were discarded.
  @discardableResult
  public mutating func birth(
    _ type: TypeID, size: Int64? = nil, stack: StackID = .none, address: UInt64? = nil, at time: Ticks? = nil,
    skipping: UInt64 = 0
  ) -> SerialNumber {
    let bytes = ByteCount(size ?? Int64(types[type]?.instanceSize ?? 16))
    let record = SiteRecord(type: type, stack: stack, size: bytes)
    let site = site(record)
    lastSerial += 1 + skipping
    let serial = SerialNumber(lastSerial)
    let place = address.map { ObjectAddress($0) } ?? allocate(bytes)
    living[serial] = Living(address: place, site: record)
    let stamp = time ?? now
    let generation = marks.filter { $0.time <= stamp }.map { $0.closes.rawValue + 1 }.max() ?? 0
    add(
      TraceEvent(.birth, serial: serial, time: stamp, site: site, generation: Generation(generation), address: place),
      advances: time == nil)
    return serial
  }

  /// It is deinitialised and freed.
  public mutating func death(_ serial: SerialNumber, at time: Ticks? = nil, stack: StackID? = nil) {
    free(serial, .death, time, stack)
  }

  /// It is deinitialised, unowned references keep the memory.
  public mutating func deinitEnded(_ serial: SerialNumber) { event(.deinitEnded, serial) }

  /// The kept memory is freed.
  public mutating func free(_ serial: SerialNumber) { free(serial, .free, nil, nil) }

  /// It is freed by plain `free()`.
  public mutating func plainFree(_ serial: SerialNumber) { free(serial, .plainFree, nil, nil) }

  /// Its address is used again though no death was seen.
  public mutating func endNotSeen(_ serial: SerialNumber) {
    event(.endNotSeen, serial)
    living[serial] = nil
  }

  /// Something dies whose birth is not in the recording.
  public mutating func unknownDeath(address: UInt64) {
    add(TraceEvent(.death, serial: nil, time: now, address: ObjectAddress(address)), advances: true)
  }

  /// It is retained.
  public mutating func retain(
    _ serial: SerialNumber, by amount: UInt32 = 1, flavour: UInt8 = 0, before: UInt32? = nil, stack: StackID? = nil
  ) {
    event(.retain, serial, stack, EventAmount(flavour: flavour, amount: amount, countBefore: before))
  }

  /// It is released.
  public mutating func release(
    _ serial: SerialNumber, by amount: UInt32 = 1, flavour: UInt8 = 0, before: UInt32? = nil, stack: StackID? = nil
  ) {
    event(.release, serial, stack, EventAmount(flavour: flavour, amount: amount, countBefore: before))
  }

  /// Its deinit begins.
  public mutating func deinitBegins(_ serial: SerialNumber) { event(.deinitBegins, serial) }

  /// realloc moves it: the same type (or another) and stack, another size.
  public mutating func move(
    _ serial: SerialNumber, to address: UInt64, size: Int64, type: TypeID? = nil, stack: StackID? = nil
  ) {
    guard var record = living[serial]?.site else { return }
    record = SiteRecord(type: type ?? record.type, stack: stack ?? record.stack, size: ByteCount(size))
    let now = site(record)
    add(
      TraceEvent(.moved, serial: serial, time: self.now, site: now, address: ObjectAddress(address)), advances: true)
    living[serial]?.address = ObjectAddress(address)
    living[serial]?.site = record
  }

  /// A mark is set; the generation that it closes.
  @discardableResult
  public mutating func mark(_ name: String = "") -> Generation {
    let mark = MarkRecord(closes: Generation(UInt32(marks.count)), time: now, firstEvent: writer.nextEvent, name: name)
    marks.append(mark)
    rows(.marks([mark]))
    writer.beginGeneration(Generation(mark.closes.rawValue + 1))
    return mark.closes
  }

  /// Events were lost.
  public mutating func gap(births: UInt64 = 0, deaths: UInt64 = 0, others: UInt64 = 0, reason: UInt64 = 1) {
    let gap = GapRecord(
      thread: thread, from: now, to: Ticks(now.rawValue + step), births: births, deaths: deaths, others: others,
      reason: reason)
    rows(.gaps([gap]))
  }

  /// The whole file.
  public func bytes() -> [UInt8] {
    var last = self
    last.writer.flushEvents()
    last.rows(.info(info))
    if let end {
      let count = EndRecord(key: "events", value: last.writer.nextEvent)
      last.rows(.end([count, EndRecord(key: "end", value: UInt64(max(0, now.rawValue)))] + end))
    }
    return last.writer.bytes
  }

  /// The trace, opened.
  public func trace(name: String = "trace") throws(TraceError) -> Trace { try Trace(TraceMemory(bytes(), name: name)) }

  private mutating func site(_ record: SiteRecord) -> SiteID {
    if let known = siteNumbers[record] { return known }
    let number = SiteID(UInt32(siteNumbers.count))
    siteNumbers[record] = number
    rows(.sites([record]))
    return number
  }

  private mutating func allocate(_ size: ByteCount) -> ObjectAddress {
    if let last = freed[size]?.popLast() { return last }
    defer { fresh += (UInt64(max(16, size.rawValue)) + 15) & ~15 }
    return ObjectAddress(fresh)
  }

  private mutating func free(_ serial: SerialNumber, _ kind: EventKind, _ time: Ticks?, _ stack: StackID?) {
    event(kind, serial, stack, nil, time)
    guard let gone = living.removeValue(forKey: serial) else { return }
    freed[gone.site.size, default: []].append(gone.address)
  }

  private mutating func event(
    _ kind: EventKind, _ serial: SerialNumber, _ stack: StackID? = nil, _ amount: EventAmount? = nil,
    _ time: Ticks? = nil
  ) {
    let event = TraceEvent(
      kind, serial: serial, time: time ?? now, address: living[serial]?.address, stack: stack, amount: amount)
    add(event, advances: time == nil)
  }

  private mutating func add(_ event: TraceEvent, advances: Bool) {
    var event = event
    event.thread = thread
    event.task = task
    writer.add(event)
    if writer.pendingEvents >= chunkEvents { writer.flushEvents() }
    if advances { now = Ticks(now.rawValue + step) }
  }
}
