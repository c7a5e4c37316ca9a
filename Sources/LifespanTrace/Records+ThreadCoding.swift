// How the rows of Records+Threads.swift stand in the file.

extension ThreadRecord: ChunkRow {
  static var chunkKind: ChunkKind { .threads }
  init(from reader: inout ByteReader, previous: ThreadRecord?) throws(Malformed) {
    thread = ThreadID(try reader.number(UInt32.self, "thread number"))
    tid = try reader.number(UInt32.self, "tid")
    op = ThreadOp(try reader.number(UInt8.self, "thread op"))
    time = Ticks(try reader.zigzag())
    name = try reader.string()
  }
  func write(to writer: inout ByteWriter, previous: ThreadRecord?) {
    writer.varint(thread.rawValue)
    writer.varint(tid)
    writer.varint(op.rawValue)
    writer.zigzag(time.rawValue)
    writer.string(name)
  }
}

extension ThreadOriginRecord: ChunkRow {
  static var chunkKind: ChunkKind { .threadOrigins }
  init(from reader: inout ByteReader, previous: ThreadOriginRecord?) throws(Malformed) {
    thread = ThreadID(try reader.number(UInt32.self, "thread number"))
    creator = ThreadID(try reader.number(UInt32.self, "thread number"))
    stack = StackID(try reader.number(UInt32.self, "stack id"))
    start = try reader.varint()
    time = Ticks(try reader.zigzag())
    stackBytes = try reader.varint()
  }
  func write(to writer: inout ByteWriter, previous: ThreadOriginRecord?) {
    writer.varint(thread.rawValue)
    writer.varint(creator.rawValue)
    writer.varint(stack.rawValue)
    writer.varint(start)
    writer.zigzag(time.rawValue)
    writer.varint(stackBytes)
  }
}

extension SampleRecord: ChunkRow {
  static var chunkKind: ChunkKind { .samples }
  init(from reader: inout ByteReader, previous: SampleRecord?) throws(Malformed) {
    self.init(time: Ticks(try reader.zigzag()), flags: try reader.varint())
    resident = try SampleRecord.bytes(&reader)
    anonymous = try SampleRecord.bytes(&reader)
    swapped = try SampleRecord.bytes(&reader)
    heapResident = try SampleRecord.bytes(&reader)
    heapSwapped = try SampleRecord.bytes(&reader)
    livingCount = try reader.varint()
    livingBytes = try SampleRecord.bytes(&reader)
    livingFootprint = try SampleRecord.bytes(&reader)
  }
  private static func bytes(_ reader: inout ByteReader) throws(Malformed) -> ByteCount {
    ByteCount(try reader.number(Int64.self, "bytes of a sample"))
  }
  func write(to writer: inout ByteWriter, previous: SampleRecord?) {
    writer.zigzag(time.rawValue)
    writer.varint(flags)
    for bytes in [resident, anonymous, swapped, heapResident, heapSwapped] {
      writer.varint(UInt64(bitPattern: bytes.rawValue))
    }
    writer.varint(livingCount)
    writer.varint(UInt64(bitPattern: livingBytes.rawValue))
    writer.varint(UInt64(bitPattern: livingFootprint.rawValue))
  }
}
