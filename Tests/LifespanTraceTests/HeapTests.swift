// The picture of the heap: built in any order, coded and read back, cut and damaged anywhere, a million nodes.
import Testing

@testable import LifespanTrace

@Suite struct HeapTests {
  @Test(arguments: [1, 2, 3, 1000])
  func aPictureIsReadBackAsItWas(length: Int) throws {
    var builder = TraceBuilder()
    builder.heap(Sample.heap, length: length)
    let trace = try builder.trace()
    #expect(trace.heapPictures == [Sample.heap.head])
    #expect(try trace.heapGraph(0) == Sample.heap)
    #expect(trace.ending.reason == .whole)
    // And again, and the events as well.
    #expect(try trace.heapGraph(0) == Sample.heap)
    #expect(try trace.forEachBatch(.all) { _ in }.events == 0)
  }

  @Test func anEmptyPictureIsOne() throws {
    var builder = TraceBuilder()
    let empty = HeapGraphBuilder(HeapGraph.Head(number: 3, time: .start, point: .request)).finish()
    builder.heap(empty)
    let trace = try builder.trace()
    #expect(try trace.heapGraph(0) == empty)
    #expect(empty.nodes.count == 0 && empty.edges.starts == [0])
    #expect(empty.node(at: 0) == nil)
  }

  @Test func severalPicturesStandApart() throws {
    var builder = TraceBuilder()
    for number in 1...3 {
      var graph = Sample.heap
      graph.head.number = UInt32(number)
      builder.heap(graph, length: 1)
      _ = builder.type("App.T\(number)")
    }
    let trace = try builder.trace()
    #expect(trace.heapPictures.map(\.number) == [1, 2, 3])
    for place in 0..<3 { #expect(try trace.heapGraph(place)?.head.number == UInt32(place + 1)) }
  }

  @Test func orderOfBuildingDoesNotMatter() {
    var first = HeapGraphBuilder(HeapGraph.Head(number: 1, time: .start))
    let a = first.addNode(address: 100, size: 16, serial: 1)
    let b = first.addNode(address: 200, size: 16, serial: 2)
    let c = first.addNode(address: 300, size: 16, serial: 3)
    first.addEdge(from: a, to: b, offset: 0)
    first.addEdge(from: a, to: c, offset: 8)
    first.addEdge(from: c, to: a, offset: 4)
    first.addRoot(to: c, kind: .register)
    var other = HeapGraphBuilder(HeapGraph.Head(number: 1, time: .start))
    let z = other.addNode(address: 300, size: 16, serial: 3)
    let y = other.addNode(address: 200, size: 16, serial: 2)
    let x = other.addNode(address: 100, size: 16, serial: 1)
    other.addEdge(from: z, to: x, offset: 4)
    other.addEdge(from: x, to: y, offset: 0)
    other.addEdge(from: 77, to: y, offset: 0)
    other.addEdge(from: x, to: z, offset: 8)
    other.addRoot(to: z, kind: .register)
    other.addRoot(to: 99, kind: .register)
    #expect(first.finish() == other.finish())
  }

  @Test func anAddressFindsItsBlock() {
    let graph = Sample.heap
    #expect(graph.node(at: 0x7f00_0000_0fff) == nil)
    #expect(graph.node(at: 0x7f00_0000_1000) == 0)
    #expect(graph.node(at: 0x7f00_0000_101f) == 0)
    #expect(graph.node(at: 0x7f00_0000_1047) == 1)
    #expect(graph.node(at: 0x7f00_0000_1048) == nil)
    #expect(graph.node(at: .max) == nil)
  }

  @Test func unknownColumnsAreSkippedUnlessTheyMustBeUnderstood() throws {
    for tag: UInt8 in [0x33, 0xb3] {
      var writer = TraceWriter(Sample.header)
      Sample.heap.forEachChunk { kind, payload in
        var longer = ByteWriter(bytes: payload)
        longer.column(tag, [1, 2, 3])
        writer.append(kind, longer.bytes)
      }
      if tag < 0x80 {
        #expect(try Trace(TraceMemory(writer.bytes)).heapGraph(0) == Sample.heap)
      } else {
        #expect(throws: TraceError.self) { try Trace(TraceMemory(writer.bytes)) }
      }
    }
  }

  @Test func aCutPictureIsNone() throws {
    var writer = TraceWriter(Sample.header)
    Sample.heap.forEachChunk(length: 1) { writer.append($0, $1) }
    let bytes = writer.bytes
    for length in 64..<bytes.count {
      let trace = try Trace(TraceMemory(Array(bytes[..<length])))
      for place in trace.heapPictures.indices { #expect(try trace.heapGraph(place) == nil, "length \(length)") }
    }
  }

  /// What a hostile writer could do with fitting checksums: never a crash, and what is read is sound.
  @Test func damagedPicturesDoNoHarm() throws {
    let chunks = Sample.heap.chunks()
    var sound = 0
    for (place, chunk) in chunks.enumerated() {
      for index in chunk.payload.indices {
        for mask: UInt8 in [0x01, 0x02, 0x40, 0x80, 0xff] {
          var writer = TraceWriter(Sample.header)
          for (other, unhurt) in chunks.enumerated() {
            var payload = unhurt.payload
            if other == place { payload[index] ^= mask }
            writer.append(unhurt.kind, payload)
          }
          guard let trace = try? Trace(TraceMemory(writer.bytes)) else { continue }
          for picture in trace.heapPictures.indices {
            guard let graph = try? trace.heapGraph(picture) else { continue }
            sound += 1
            Self.expectSound(graph)
          }
        }
      }
    }
    #expect(sound > 50)
  }

  private static func expectSound(_ graph: HeapGraph) {
    let nodes = graph.nodes.count
    #expect(graph.edges.starts.count == nodes + 1 && graph.edges.starts.last == UInt32(graph.edges.count))
    #expect(zip(graph.edges.starts, graph.edges.starts.dropFirst()).allSatisfy { $0 <= $1 })
    #expect(graph.edges.targets.allSatisfy { Int($0) < nodes })
    #expect(graph.roots.allSatisfy { Int($0.target) < nodes })
    #expect(graph.edges.labels.allSatisfy { Int($0) < graph.names.count })
  }

  @Test func chunksOfTheWrongPictureOrTwiceAreFound() throws {
    let chunks = Sample.heap.chunks()
    var other = Sample.heap
    other.head.number = 2
    let foreign = other.chunks()
    for index in 1..<chunks.count {
      for wrong in [[chunks[index], chunks[index]], [foreign[index]], []] {
        var writer = TraceWriter(Sample.header)
        for (place, chunk) in chunks.enumerated() {
          for part in place == index ? wrong : [chunk] { writer.append(part.kind, part.payload) }
        }
        let trace = try Trace(TraceMemory(writer.bytes))
        #expect(try trace.heapGraph(0) == nil, "chunk \(index)")
      }
    }
  }

  @Test func aMillionNodes() throws {
    let count = 1_000_000
    var builder = HeapGraphBuilder(HeapGraph.Head(number: 1, time: .start))
    builder.reserve(nodes: count, edges: 2 * count)
    let next = builder.name("next")
    for index in 0..<count {
      builder.addNode(address: 0x1000 + UInt64(index) * 48, size: 48, serial: UInt64(index + 1), type: TypeID(1))
    }
    for index in 0..<count {
      builder.addEdge(from: UInt32(index), to: UInt32((index + 1) % count), offset: 16, label: next)
      builder.addEdge(from: UInt32(index), to: UInt32(index / 2), offset: 24, strength: .weak)
    }
    builder.addRoot(to: 0, kind: .global)
    let graph = builder.finish()
    var writer = TraceWriter(Sample.header, codec: .zstd)
    var largest = 0
    graph.forEachChunk { kind, payload in
      largest = max(largest, payload.count)
      writer.append(kind, payload)
    }
    #expect(largest < 8 << 20)
    #expect(writer.bytes.count < 20 * count)
    let trace = try Trace(TraceMemory(writer.take()))
    let read = try trace.heapGraph(0)
    #expect(read == graph)
  }
}
