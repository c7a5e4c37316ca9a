// A trace that is cut or damaged anywhere: never a crash, either an error with an offset or the unchanged part before.
import Testing

@testable import LifespanTrace

@Suite struct DamageTests {
  @Test(arguments: [ChunkCodec.none, .zstd])
  func everyTruncationGivesThePartBefore(codec: ChunkCodec) throws {
    let bytes = Sample.bytes(codec)
    let whole = try Contents(bytes)
    for length in 0..<bytes.count {
      do {
        let part = try Contents(Array(bytes.prefix(length)))
        #expect(length >= 64, "length \(length)")
        #expect(part.isPrefix(of: whole), "length \(length)")
        #expect(part.ending.reason == .cut || part.ending.reason == .unfinished, "length \(length)")
        #expect(part.ending.offset <= UInt64(length), "length \(length)")
      } catch let error as TraceError {
        #expect(length < 64, "length \(length)")
        #expect(error.problem == (length == 0 ? .empty : .cutHeader), "length \(length)")
      }
    }
  }

  @Test(arguments: [ChunkCodec.none, .zstd])
  func everyFlippedByteIsFound(codec: ChunkCodec) throws {
    let bytes = Sample.bytes(codec)
    let whole = try Contents(bytes)
    for index in bytes.indices {
      for mask: UInt8 in [0x01, 0x80] {
        var damaged = bytes
        damaged[index] ^= mask
        do {
          let part = try Contents(damaged)
          #expect(part.isPrefix(of: whole), "byte \(index) ^ \(mask)")
          #expect(part.count < whole.count, "byte \(index)")
          guard case .damaged = part.ending.reason else {
            Issue.record("byte \(index) ^ \(mask) was not found")
            continue
          }
          #expect(part.ending.offset <= UInt64(index), "byte \(index)")
        } catch let error as TraceError {
          #expect(index < 64, "byte \(index): \(error)")
          #expect(error.offset <= UInt64(bytes.count))
        }
      }
    }
  }

  /// Checksums hide what a payload may hold: here they are made to fit, as a hostile writer would.
  @Test func everyFlippedByteOfEveryPayloadWithAFittingChecksumDoesNoHarm() throws {
    var writer = TraceWriter(Sample.header)
    for rows in Sample.rows { writer.write(rows) }
    let prefix = writer.bytes
    var reader = try TraceReader(TraceMemory(Sample.bytes()))
    var read = 0
    while let chunk = try reader.next() {
      let raw = reader.payload()
      let payload = Array(try #require(raw))
      for index in payload.indices {
        for mask: UInt8 in [0x01, 0x40, 0x80] {
          var hostile = payload
          hostile[index] ^= mask
          var other = TraceWriter(Sample.header)
          _ = other.take()
          other.append(chunk.header.kind, hostile)
          do {
            _ = try Contents(prefix + other.bytes)
            read += 1
          } catch let error as TraceError {
            // Only a column that claims that it must be understood refuses a file.
            guard case .needsNewerReader = error.problem else {
              Issue.record("\(error)")
              continue
            }
          }
        }
      }
    }
    #expect(read > 1000)
  }

  @Test func everyTruncatedPayloadWithAFittingChecksumDoesNoHarm() throws {
    var writer = TraceWriter(Sample.header)
    for rows in Sample.rows { writer.write(rows) }
    let prefix = writer.bytes
    var reader = try TraceReader(TraceMemory(Sample.bytes()))
    while let chunk = try reader.next() {
      let raw = reader.payload()
      let payload = Array(try #require(raw))
      for length in 0..<payload.count {
        var other = TraceWriter(Sample.header)
        _ = other.take()
        other.append(chunk.header.kind, Array(payload.prefix(length)))
        let contents = try Contents(prefix + other.bytes)
        guard case .damaged = contents.ending.reason else {
          Issue.record("\(chunk.header.kind) cut to \(length) bytes was not found: \(contents.ending)")
          continue
        }
      }
    }
  }

  @Test func randomBytesInColumnsDoNoHarm() throws {
    var random = SplitMix(state: 42)
    var writer = TraceWriter(Sample.header)
    for rows in Sample.rows { writer.write(rows) }
    let prefix = writer.bytes
    for _ in 0..<1000 {
      let count = Int(random.next() % 40) + 1
      var payload = ByteWriter()
      var head = ByteWriter()
      head.varint(random.next() >> (random.next() % 64))
      head.varint(UInt64(count))
      head.varint(random.next() % 3 == 0 ? random.next() : random.next() % 20)
      head.varint(random.next())
      payload.column(0x81, head.bytes)
      let kinds = (0..<count).map { _ in random.next() % 12 | random.next() & 0xc0 }
      payload.column(0x82, kinds.map { UInt8(truncatingIfNeeded: $0) })
      for tag: UInt8 in [0x03, 0x04, 0x85, 0x86, 0x07, 0x08, 0x09, 0x0a, 0x0b, 0x0c, 0x8d, 0x0e] {
        let length = Int(random.next() % 120)
        let small = random.next() % 2 == 0
        payload.column(tag, (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next() & (small ? 1 : 0xff)) })
      }
      var other = TraceWriter(Sample.header)
      _ = other.take()
      other.append(.events, payload.bytes)
      _ = try Contents(prefix + other.bytes)
    }
  }

  @Test func damageInTheMiddleKeepsWhatIsBefore() throws {
    var writer = TraceWriter(Sample.header)
    writer.write(Sample.rows[0])
    let offset = writer.bytes.count
    writer.write(Sample.rows[1])
    writer.write(Sample.end)
    var bytes = writer.take()
    bytes[offset + 30] ^= 1
    let contents = try Contents(bytes)
    #expect(contents.parts == [Sample.rows[0]])
    #expect(contents.ending == TraceEnding(offset: UInt64(offset), reason: .damaged("the checksum of IMAGES is wrong")))
    #expect(
      contents.ending.sentence == "damaged at byte \(offset) (the checksum of IMAGES is wrong): "
        + "what stands before is reported; record again")
  }

  @Test func unknownChunksAreSkippedUnlessTheyMustBeUnderstood() throws {
    var writer = TraceWriter(Sample.header)
    writer.write(Sample.rows[0])
    writer.append(ChunkKind(77), [1, 2, 3])
    writer.write(Sample.end)
    let skipped = try Contents(writer.bytes)
    #expect(skipped.parts == [Sample.rows[0], Sample.end])
    #expect(skipped.ending.reason == .whole)
    let offset = UInt64(writer.bytes.count)
    writer.append(ChunkKind(78), [], flags: 1)
    #expect(throws: TraceError(file: "trace", offset: offset, problem: .needsNewerReader("a chunk of kind 78"))) {
      try Contents(writer.bytes)
    }
  }

  @Test func aNewerVersionOfAKnownChunkIsRefused() throws {
    var writer = TraceWriter(Sample.header)
    writer.append(.events, [], version: 2)
    #expect(throws: TraceError(file: "trace", offset: 64, problem: .needsNewerReader("a chunk EVENTS of version 2"))) {
      try Contents(writer.bytes)
    }
  }

  @Test func aColumnThatMustBeUnderstoodIsRefusedAndOthersAreSkipped() throws {
    var payload = ByteWriter()
    payload.column(0x05, [9, 9])
    payload.column(0x81, [0])
    var writer = TraceWriter(Sample.header)
    writer.append(.info, payload.bytes)
    #expect(try Contents(writer.bytes).parts == [.info([])])
    payload.column(0x90, [])
    writer.append(.info, payload.bytes)
    #expect(throws: TraceError.self) { try Contents(writer.bytes) }
  }

  @Test func filesThatAreNoTraceSaySo() throws {
    func problem(_ bytes: [UInt8]) -> TraceError? {
      do {
        _ = try Trace(TraceMemory(bytes))
        return nil
      } catch { return error }
    }
    #expect(problem([])?.problem == .empty)
    #expect(problem(Array("heaptrack v1\n".utf8))?.problem == .notATrace)
    #expect(problem(Array("LIFESPAN".utf8))?.problem == .cutHeader)
    var newer = Sample.bytes()
    newer[8] = 2
    #expect(problem(newer) == TraceError(file: "trace", offset: 8, problem: .newerVersion(2)))
    #expect(throws: TraceError(file: "/nowhere/x", problem: .unreadable("No such file or directory"))) {
      try Trace(path: "/nowhere/x")
    }
    #expect(throws: TraceError(file: "/", problem: .unreadable("Is a directory"))) { try Trace(path: "/") }
  }

  @Test func aHeaderWithoutChecksumIsRead() throws {
    var bytes = Sample.bytes()
    for index in 60..<64 { bytes[index] = 0 }
    #expect(try Contents(bytes).ending.reason == .whole)
  }

  @Test func claimedLengthsTakeNoMemory() throws {
    let limits: [(raw: UInt32, stored: UInt32)] = [(1 << 26, 1 << 26), (1 << 26 + 1, 8), (8, UInt32.max)]
    for limit in limits {
      let header = ChunkHeader(
        kind: .info, codec: 1, rawLength: limit.raw, storedLength: limit.stored, checksum: 0)
      var writer = TraceWriter(Sample.header)
      let bytes = writer.take() + header.encoded() + [1, 2, 3]
      let ending = try Contents(bytes).ending
      #expect(ending.offset == 64)
      #expect(ending.reason != .whole)
    }
  }

  @Test func aStackThatRunsInACircleEnds() {
    var stacks = StackTable()
    stacks.add(StackNode(id: StackID(2), parent: StackID(3), pc: ReturnAddress(1)))
    stacks.add(StackNode(id: StackID(3), parent: StackID(2), pc: ReturnAddress(2)))
    for id in [StackID(2), StackID(3)] {
      // The one whose parent is no older node is the last.
      #expect(stacks.stack(id).frames.last?.id == StackID(2))
      #expect(stacks.stack(id).frames.count <= 2)
      #expect(stacks.stack(id).end == .cut)
    }
  }

  @Test func farNumbersTakeNoMemory() {
    var table = SparseTable<Int>()
    table[UInt32.max] = 1
    table[2] = 2
    #expect(table[UInt32.max] == 1)
    #expect(table[2] == 2)
    #expect(table[3] == nil)
    #expect(table.elements == [2, 1])
  }
}

/// Repeatable random numbers.
struct SplitMix {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
    return value ^ (value >> 31)
  }
}
