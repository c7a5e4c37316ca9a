// Traces made by TraceBuilder for the tests of the dump and of the reading subcommands.
import LifespanTrace

enum SampleTrace {
  static var header: TraceHeader {
    var header = TraceHeader()
    header.pid = 7
    header.parentPID = 1
    header.startRealtime = 1_796_007_600_000_000_000
    return header
  }

  static var info: [InfoRecord] {
    [
      ("program", "/nowhere/App"), ("arguments", "App --fast 'a b'"), ("capture", "complete"), ("recorder", "0.1.0"),
      ("started_at", "2026-11-30T03:00:00Z"), ("unwind", "auto"),
    ].map { InfoRecord(key: $0.0, value: $0.1) }
  }

  /// Every kind of chunk and of event.
  static func everything() -> TraceBuilder {
    var builder = TraceBuilder(header)
    builder.info = info
    builder.rows(
      .images([
        ImageRecord(
          id: ImageID(1), epoch: Epoch(1), bias: 0x1000, start: 0x1000, end: 0x9000, buildID: [0xab, 0xcd],
          path: "/nowhere/App"),
        ImageRecord(id: ImageID(2), epoch: Epoch(2), bias: 0, start: 0xa000, end: 0xb000, path: "/nowhere/libGone.so"),
        ImageRecord(id: ImageID(2), isLoad: false, epoch: Epoch(3), bias: 0, start: 0, end: 0, path: ""),
      ]))
    let stack = builder.stack(0x2010, 0x3020, epoch: 1, end: .cut)
    let node = builder.type("App.Node", size: 48, tracked: true)
    let closure = builder.type("", kind: .closure, size: 0, caller: 0x2010)
    let worker = builder.thread(2, name: "worker")
    builder.rows(.tasks([TaskRecord(id: TaskID(3))]))
    let first = builder.birth(node, stack: stack)
    let second = builder.birth(closure, size: 32)
    builder.thread = worker
    builder.task = TaskID(3)
    builder.retain(first, flavour: 1, before: 1, stack: stack)
    builder.release(first, before: 2)
    builder.mark("launched")
    builder.death(second)
    builder.deinitBegins(first)
    builder.deinitEnded(first)
    builder.free(first)
    let third = builder.birth(node, address: 0x6000_0000)
    builder.move(third, to: 0x6000_1000, size: 96)
    builder.plainFree(third)
    builder.endNotSeen(builder.birth(node))
    builder.unknownDeath(address: 0x7000_0000)
    builder.mark()
    builder.gap(births: 2, deaths: 1)
    builder.rows(.recording([RecordingRecord(time: builder.now, goesOn: false)]))
    builder.rows(
      .threads([
        ThreadRecord(thread: worker, tid: 102, op: .renamed, time: builder.now, name: "loop"),
        ThreadRecord(thread: worker, tid: 102, op: .ended, time: builder.now, name: ""),
        ThreadRecord(thread: ThreadID(3), tid: 103, op: .gone, time: builder.now, name: ""),
      ]))
    builder.rows(
      .threadOrigins([
        ThreadOriginRecord(
          thread: worker, creator: .main, stack: stack, start: 0x2000, time: Ticks(900), stackBytes: 65_536)
      ]))
    builder.rows(
      .samples([
        SampleRecord(
          time: builder.now, flags: 4, resident: ByteCount(9 << 20), anonymous: ByteCount(6 << 20),
          swapped: ByteCount(4_096), heapResident: ByteCount(5 << 20), heapSwapped: ByteCount(4_096), livingCount: 3,
          livingBytes: ByteCount(144), livingFootprint: ByteCount(192))
      ]))
    builder.rows(.totals([TotalRecord(type: node, generation: Generation(0), births: 5, bytes: 240)]))
    var heap = HeapGraphBuilder(
      HeapGraph.Head(number: 1, time: TraceTime(17_000), point: .mark(Generation(1)), notes: ["a note"]))
    let held = heap.addNode(address: 0x6000_0000, size: 48, serial: 3, type: node)
    let block = heap.addNode(address: 0x6000_0100, size: 16, name: heap.name("side table"), flags: .sideTable)
    heap.addEdge(from: held, to: block, offset: 8, label: heap.name("next"), strength: .conservative)
    heap.addRoot(to: held, kind: .stack, isFirm: false, label: heap.name("frame"), offset: 8, thread: worker)
    builder.heap(heap.finish())
    return builder
  }

  /// A small run: two rounds, each closed by a mark; Nodes that stay, a closure, arrays that come and go.
  static func story() -> TraceBuilder {
    var builder = TraceBuilder(header)
    builder.info = info
    builder.step = 1_000_000
    builder.rows(
      .images([
        ImageRecord(id: ImageID(1), epoch: Epoch(1), bias: 0x1000, start: 0x1000, end: 0x9000, path: "/nowhere/App")
      ]))
    let stack = builder.stack(0x2010, 0x3020, epoch: 1)
    let other = builder.stack(0x2110, 0x3020, epoch: 1, end: .cut)
    let node = builder.type("App.Node", size: 48, tracked: true)
    let hidden = builder.type("App.(unknown context at $7f00).Hidden", size: 32)
    let array = builder.type("Swift._ContiguousArrayStorage<Swift.Int>", kind: .array)
    let closure = builder.type("", kind: .closure, size: 0, caller: 0x2010)
    builder.birth(hidden)
    builder.death(builder.birth(array, size: 4_096, stack: stack))
    let first = builder.birth(node, stack: stack)
    builder.retain(first, flavour: 1, before: 1, stack: stack)
    builder.mark("launched")
    builder.birth(node, stack: stack)
    builder.birth(node, stack: other)
    builder.birth(closure, size: 32, stack: other)
    builder.release(first, before: 2)
    builder.deinitBegins(first)
    builder.death(first)
    builder.mark("round")
    builder.birth(array, size: 12_288, stack: other)
    builder.death(builder.birth(node, stack: stack))
    return builder
  }
}
