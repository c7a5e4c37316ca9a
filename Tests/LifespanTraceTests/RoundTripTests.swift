// What is written is read: every chunk kind, every event kind, every column, both codecs.
import Testing

@testable import LifespanTrace

@Suite struct RoundTripTests {
  @Test(arguments: [ChunkCodec.none, .zstd])
  func everyChunkKindComesBackAsWritten(codec: ChunkCodec) throws {
    let contents = try Contents(Sample.bytes(codec))
    #expect(contents.parts == Sample.rows + [Sample.end])
    #expect(contents.events == Sample.events.flatMap { $0 })
    #expect(contents.ending.reason == .whole)
    #expect(Set(contents.parts.map(\.kind) + [.events]) == Set((1...15).map { ChunkKind(UInt8($0)) }))
  }

  @Test func theHeaderComesBackAsWritten() throws {
    #expect(try Trace(TraceMemory(Sample.bytes())).header == Sample.header)
  }

  @Test func aTraceIsCollectedIntoTables() throws {
    let trace = try Trace(TraceMemory(Sample.bytes(.zstd)))
    #expect(trace.info == ["program": "/tmp/App", "capture": "complete"])
    #expect(trace.stacks.stack(StackID(3)).frames.map(\.pc) == [ReturnAddress(0x2000), ReturnAddress(0x1800)])
    #expect(trace.stacks.stack(StackID(3)).end == .noRow)
    #expect(trace.end == ["events": 17, "clean": 1])
    #expect(trace.marks.map(\.name) == ["warm"])
    #expect(trace.sites.count == 2)
    #expect(trace.totals.count == 1)
    #expect(trace.recording.map(\.goesOn) == [false, true])
    let counts = try trace.forEachBatch([]) { _ in }
    #expect(counts.events == 17)
    #expect(counts.births == 7)
  }

  @Test func columnsThatAreNotAskedForChangeNothing() throws {
    let trace = try Trace(TraceMemory(Sample.bytes()))
    var kinds: [UInt8] = []
    var objects: [Int] = []
    try trace.forEachBatch([]) { batch in
      for index in 0..<batch.count {
        kinds.append(batch.kind(index).rawValue)
        objects.append(batch.objects[index])
      }
    }
    #expect(kinds == Sample.events.flatMap { $0 }.map(\.kind.rawValue))
    #expect(objects == [0, 1, 0, 0, 0, 0, 2, 1, -1, 3, 4, 3, 3, 1, 2, 5, 6])
  }

  @Test func columnsThatAreMissingReadAsUnknown() throws {
    let left: EventColumns = [.times, .threads, .tasks, .addresses, .stacks, .amounts]
    let events = try Contents(Sample.bytes(leaving: left)).events
    #expect(events.map(\.kind) == Sample.events.flatMap { $0 }.map(\.kind))
    #expect(events.allSatisfy { $0.address == nil && $0.task == .none && $0.thread == .unknown })
    #expect(events.map(\.serial) == Sample.events.flatMap { $0 }.map(\.serial))
  }

  @Test func coarseTimesKeepTheirUnit() throws {
    var builder = TraceBuilder(Sample.header)
    builder.step = 7
    let node = builder.type("App.Node")
    for _ in 0..<5 { builder.birth(node) }
    let events = try Contents(builder.bytes()).events
    #expect(events.map(\.time.rawValue) == [0, 0, 10, 20, 20])
  }

  @Test func manyEventsInManyChunksComeBack() throws {
    var builder = TraceBuilder(codec: .zstd)
    builder.chunkEvents = 5000
    let small = builder.type("App.Small", size: 32)
    let large = builder.type("App.Large", size: 4096)
    var living: [SerialNumber] = []
    for number in 0..<12_000 {
      builder.thread = ThreadID(UInt32(number / 700 % 3 + 1))
      living.append(builder.birth(number % 7 == 0 ? large : small))
      if number % 3 == 0 { builder.death(living.remove(at: number * 31 % living.count)) }
    }
    // 1,100 deaths of one size in a row and as many births: the freed stack holds 1,024.
    for _ in 0..<1100 { builder.death(living.removeLast()) }
    for _ in 0..<1100 { builder.birth(small) }
    let events = try Contents(builder.bytes()).events
    #expect(events.count == 18_200)
    var place: [SerialNumber: ObjectAddress] = [:]
    var taken: Set<ObjectAddress> = []
    for event in events {
      let serial = try #require(event.serial)
      let address = try #require(event.address)
      if event.kind == .birth {
        if !taken.insert(address).inserted { Issue.record("@\(serial) lies where another lives") }
        place[serial] = address
      } else {
        if place.removeValue(forKey: serial) != address { Issue.record("@\(serial) dies elsewhere") }
        taken.remove(address)
      }
    }
    #expect(place.count == 8000)
  }

  @Test func aTraceIsReadFromAFile() throws {
    let path = "/tmp/lifespan-trace-test-\(UInt64.random(in: 0...UInt64.max)).lifespan"
    try TestFile.write(Sample.bytes(), path)
    defer { TestFile.remove(path) }
    let trace = try Trace(path: path)
    #expect(trace.name == path)
    #expect(try trace.forEachBatch(.all) { _ in }.events == 17)
  }

  @Test func aFileThatGrowsIsReadAsFarAsItIsWhole() throws {
    let bytes = Sample.bytes()
    let path = "/tmp/lifespan-trace-test-\(UInt64.random(in: 0...UInt64.max)).lifespan"
    defer { TestFile.remove(path) }
    try TestFile.write(Array(bytes.prefix(bytes.count - 10)), path)
    #expect(try Trace(path: path).ending.reason == .cut)
    try TestFile.write(bytes, path)
    #expect(try Trace(path: path).ending.reason == .whole)
  }
}
