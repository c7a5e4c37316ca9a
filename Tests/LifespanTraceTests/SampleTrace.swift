// A small trace that holds every chunk kind and every event kind. Used by the round-trip and damage tests.
import LifespanTrace

enum Sample {
  static var header: TraceHeader {
    var header = TraceHeader()
    header.clock = 1
    header.ticksPerSecond = 2_000_000_000
    header.startTicks = 77
    header.startRealtime = 1_700_000_000_000_000_000
    header.pid = 7
    header.parentPID = 6
    header.ticksPerUnit = 10
    return header
  }

  static let rows: [ChunkRows] = [
    .info([InfoRecord(key: "program", value: "/tmp/App"), InfoRecord(key: "capture", value: "complete")]),
    .images([
      ImageRecord(
        id: ImageID(1), epoch: Epoch(1), bias: 0x1000, start: 0x1000, end: 0x9000, buildID: [1, 2], path: "/bin/App"),
      ImageRecord(
        id: ImageID(1), isLoad: false, epoch: Epoch(2), bias: 0x1000, start: 0x1000, end: 0x9000, path: "/bin/App"),
    ]),
    .stacks([
      StackNode(id: StackID(3), parent: StackID(2), pc: ReturnAddress(0x2000), epoch: Epoch(1)),
      StackNode(id: StackID(2), pc: ReturnAddress(0x1800), epoch: Epoch(1), end: .noRow),
    ]),
    .types([
      TypeRecord(
        id: TypeID(1), superclass: TypeID(2), metadata: 0x4000, instanceSize: 32, flags: 1, name: "App.Node"),
      TypeRecord(id: TypeID(2), kind: .closure, caller: ReturnAddress(0x1234), name: ""),
    ]),
    .threads([
      ThreadRecord(thread: .main, tid: 7, name: "main"),
      ThreadRecord(thread: .main, tid: 7, op: .renamed, time: Ticks(-5), name: "renamed"),
      ThreadRecord(thread: .main, tid: 7, op: .ended, time: Ticks(8), name: ""),
    ]),
    .sites([
      SiteRecord(type: TypeID(1), stack: StackID(3), size: ByteCount(32)),
      SiteRecord(type: TypeID(2), stack: .none, size: ByteCount(48)),
    ]),
    .marks([MarkRecord(closes: Generation(0), time: Ticks(95), firstEvent: 9, name: "warm")]),
    .gaps([GapRecord(thread: .main, from: Ticks(-1), to: Ticks(9), births: 1, deaths: 2, others: 3, reason: 1)]),
    .tasks([TaskRecord(id: TaskID(5), parent: TaskID(4))]),
    .totals([TotalRecord(type: TypeID(1), generation: Generation(0), births: 10, bytes: 320)]),
    .recording([RecordingRecord(time: Ticks(3), goesOn: false), RecordingRecord(time: Ticks(4), goesOn: true)]),
    .samples([
      SampleRecord(
        time: Ticks(-3), flags: 5, resident: ByteCount(900), anonymous: ByteCount(800), swapped: ByteCount(70),
        heapResident: ByteCount(600), heapSwapped: ByteCount(50), livingCount: 4, livingBytes: ByteCount(300),
        livingFootprint: ByteCount(384)),
      SampleRecord(time: Ticks(5)),
    ]),
    .threadOrigins([
      ThreadOriginRecord(
        thread: ThreadID(2), creator: .main, stack: StackID(3), start: 0x5000, time: Ticks(-2), stackBytes: 65_536),
      ThreadOriginRecord(thread: ThreadID(3)),
    ]),
  ]

  static let end = ChunkRows.end([EndRecord(key: "events", value: 17), EndRecord(key: "clean", value: 1)])

  /// A picture with every kind of everything.
  static var heap: HeapGraph {
    var builder = HeapGraphBuilder(
      HeapGraph.Head(
        number: 1, time: TraceTime(900), point: .mark(Generation(0)), pauseNanoseconds: 5, objectsChecked: 2,
        isComplete: false, notes: ["a thread could not be stopped"]))
    let list = builder.addNode(address: 0x7f00_0000_1000, size: 32, serial: 9, type: TypeID(1))
    let table = builder.addNode(
      address: 0x7f00_0000_1020, size: 40, name: builder.name("side table"), flags: [.sideTable, .inFlight])
    let item = builder.addNode(address: 0x7f00_0000_3000, size: 300, serial: 8, type: TypeID(2), flags: .deinited)
    let strengths: [HeapStrength] = [.strong, .weak, .unowned, .unmanaged, .conservative]
    for (index, strength) in strengths.enumerated() {
      builder.addEdge(
        from: item, to: list, offset: UInt32(16 + 8 * index), label: builder.name("p\(index)"), strength: strength)
    }
    builder.addEdge(from: list, to: table, offset: 8)
    builder.addRoot(to: item, kind: .global, label: builder.name("App.list"), offset: 8)
    builder.addRoot(to: list, kind: .stack, isFirm: false, thread: ThreadID(2))
    return builder.finish()
  }

  /// Two chunks: the second begins at event 9, after the mark.
  static let events: [[TraceEvent]] = [
    [
      birth(1, 10, site: 0, 0x7f00_0000_1000),
      birth(2, 20, site: 0, 0x7f00_0000_1020, task: 5),
      TraceEvent(
        .retain, serial: SerialNumber(1), time: Ticks(30), thread: ThreadID(2), task: TaskID(5),
        address: ObjectAddress(0x7f00_0000_1000), stack: StackID(3), amount: EventAmount(countBefore: 1)),
      TraceEvent(
        .release, serial: SerialNumber(1), time: Ticks(40), address: ObjectAddress(0x7f00_0000_1000),
        amount: EventAmount(flavour: 4, amount: 2)),
      TraceEvent(
        .deinitBegins, serial: SerialNumber(1), time: Ticks(50), address: ObjectAddress(0x7f00_0000_1000),
        stack: StackID(2)),
      TraceEvent(.death, serial: SerialNumber(1), time: Ticks(60), address: ObjectAddress(0x7f00_0000_1000)),
      // The block freed last: predicted. Serials 3 to 5 were discarded.
      birth(6, 70, site: 0, 0x7f00_0000_1000),
      TraceEvent(.deinitEnded, serial: SerialNumber(2), time: Ticks(80), address: ObjectAddress(0x7f00_0000_1020)),
      TraceEvent(.death, serial: nil, time: Ticks(-20), address: ObjectAddress(0x7f00_0000_9000)),
    ],
    [
      birth(7, 100, site: 1, 0x7f00_0000_2000, generation: 1),
      // Late: its stamp is older than the mark's.
      birth(8, 90, site: 1, 0x7f00_0000_2040),
      TraceEvent(
        .moved, serial: SerialNumber(7), time: Ticks(110), site: SiteID(0), address: ObjectAddress(0x7f00_0000_3000)),
      TraceEvent(.plainFree, serial: SerialNumber(7), time: Ticks(120), address: ObjectAddress(0x7f00_0000_3000)),
      TraceEvent(.free, serial: SerialNumber(2), time: Ticks(130), address: ObjectAddress(0x7f00_0000_1020)),
      TraceEvent(.endNotSeen, serial: SerialNumber(6), time: Ticks(140), address: ObjectAddress(0x7f00_0000_1000)),
      birth(9, 150, site: 1, 0x7f00_0000_3000, generation: 1),
      birth(10, 160, site: 0, 0x7f00_0000_1020, generation: 1),
    ],
  ]

  private static func birth(
    _ serial: UInt64, _ time: Int64, site: UInt32, _ address: UInt64, task: UInt64 = 0, generation: UInt32 = 0
  ) -> TraceEvent {
    TraceEvent(
      .birth, serial: SerialNumber(serial), time: Ticks(time), task: TaskID(task), site: SiteID(site),
      generation: Generation(generation), address: ObjectAddress(address))
  }

  static func bytes(_ codec: ChunkCodec = .none, leaving: EventColumns = []) -> [UInt8] {
    var writer = TraceWriter(header, codec: codec, leaving: leaving)
    for rows in rows { writer.write(rows) }
    for (index, chunk) in events.enumerated() {
      if index == 1 { writer.beginGeneration(Generation(1)) }
      for event in chunk { writer.add(event) }
      writer.flushEvents()
    }
    heap.forEachChunk(length: 2) { writer.append($0, $1) }
    writer.write(end)
    return writer.take()
  }
}

/// All that a reader gets out of a trace, in the order of the file.
struct Contents: Equatable {
  var parts: [ChunkRows] = []
  var events: [TraceEvent] = []
  var heap: [HeapChunk] = []
  var ending = TraceEnding(offset: 0, reason: .whole)

  init(_ bytes: [UInt8]) throws {
    let trace = try Trace(TraceMemory(bytes))
    var parts: [ChunkRows] = []
    var events: [TraceEvent] = []
    var heap: [HeapChunk] = []
    try trace.forEachPart { _, part in
      switch part {
      case .rows(let rows): parts.append(rows)
      case .events(let batch): for index in 0..<batch.count { events.append(batch.event(index)) }
      case .heap(let chunk): heap.append(chunk)
      }
    }
    self.parts = parts
    self.events = events
    self.heap = heap
    ending = trace.ending
  }

  var count: Int { parts.count + events.count + heap.count }

  func isPrefix(of whole: Contents) -> Bool {
    whole.parts.starts(with: parts) && whole.events.starts(with: events) && whole.heap.starts(with: heap)
  }
}
