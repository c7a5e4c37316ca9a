// Decoding on a second thread gives what decoding on one gives: of whole files, of cut ones and of damaged ones.
import Testing

@testable import LifespanTrace

@Suite struct DecodingAheadTests {
  private struct Result: Equatable {
    var events: [TraceEvent] = []
    var seen: [UInt64] = []
    var counted: UInt64 = 0
    var births: UInt64 = 0
    var ending: TraceEnding?
    var error: String?
  }

  private func read(_ bytes: [UInt8], ahead: Bool) -> Result {
    var result = Result()
    do {
      let trace = try Trace(TraceMemory(bytes))
      let counts = try trace.forEachBatch(.all, ahead: ahead) { batch in
        result.seen.append(batch.seen)
        for index in 0..<batch.count { result.events.append(batch.event(index)) }
      }
      result.counted = counts.events
      result.births = counts.births
      result.ending = trace.ending
    } catch {
      result.error = error.description
    }
    return result
  }

  /// Many chunks of many batches, more than are under way at once.
  private func long(_ codec: ChunkCodec) -> [UInt8] {
    var builder = TraceBuilder(Sample.header, codec: codec)
    builder.chunkEvents = 20_000
    let node = builder.type("App.Node")
    for round in 0..<20 {
      let objects = (0..<5000).map { _ in builder.birth(node, size: 32) }
      for object in objects.dropLast(round * 100) { builder.death(object) }
      builder.mark("round \(round)")
    }
    return builder.bytes()
  }

  @Test(arguments: [ChunkCodec.none, .zstd])
  func longTracesGiveTheSame(codec: ChunkCodec) {
    let bytes = long(codec)
    let result = read(bytes, ahead: true)
    #expect(result == read(bytes, ahead: false))
    #expect(result.events.count == 200_000 - 19_000)
    #expect(result.ending?.reason == .whole)
    for length in [bytes.count / 3, bytes.count / 2, bytes.count - 9] {
      let part = Array(bytes.prefix(length))
      #expect(read(part, ahead: true) == read(part, ahead: false), "length \(length)")
    }
  }

  @Test func damagedChunksGiveTheSame() throws {
    var reader = try TraceReader(TraceMemory(long(.none)))
    var writer = TraceWriter(Sample.header)
    var bytes: [UInt8] = []
    var events = 0
    var compared = 0
    while let chunk = try reader.next() {
      let raw = reader.payload()
      let payload = Array(try #require(raw))
      if chunk.header.kind == .events {
        events += 1
        // The first chunks and a later one, each damaged at its begin, in its midst and at its end, then followed by whole ones.
        if [1, 2, 3, 7].contains(events) {
          for index in [0, 3, 9, payload.count / 2, payload.count * 3 / 4, payload.count - 2] {
            var hostile = payload
            hostile[index] ^= 0x84
            var other = TraceWriter(Sample.header)
            _ = other.take()
            other.append(.events, hostile)
            other.append(.events, payload)
            other.append(.events, payload)
            let damaged = bytes + writer.bytes + other.bytes
            #expect(read(damaged, ahead: true) == read(damaged, ahead: false), "chunk \(events), byte \(index)")
            compared += 1
          }
        }
      }
      writer.append(chunk.header.kind, payload)
      bytes += writer.take()
    }
    #expect(compared == 24)
  }

  @Test(arguments: [ChunkCodec.none, .zstd])
  func everyTruncationGivesTheSame(codec: ChunkCodec) {
    let bytes = Sample.bytes(codec)
    for length in stride(from: 60, through: bytes.count, by: 1) {
      let part = Array(bytes.prefix(length))
      #expect(read(part, ahead: true) == read(part, ahead: false), "length \(length)")
    }
  }
}
