// How the rows of Records.swift stand in the file: one reading and one writing function each, side by side.
import CTraceFormat

/// A row of a chunk. `previous` is the row before in the same chunk.
protocol ChunkRow {
  static var chunkKind: ChunkKind { get }
  init(from reader: inout ByteReader, previous: Self?) throws(Malformed)
  func write(to writer: inout ByteWriter, previous: Self?)
}

extension InfoRecord: ChunkRow {
  static var chunkKind: ChunkKind { .info }
  init(from reader: inout ByteReader, previous: InfoRecord?) throws(Malformed) {
    self.init(key: try reader.string(), value: try reader.string())
  }
  func write(to writer: inout ByteWriter, previous: InfoRecord?) {
    writer.string(key)
    writer.string(value)
  }
}

extension ImageRecord: ChunkRow {
  static var chunkKind: ChunkKind { .images }
  init(from reader: inout ByteReader, previous: ImageRecord?) throws(Malformed) {
    id = ImageID(try reader.number(UInt32.self, "image id"))
    isLoad = try reader.varint() != 0
    epoch = Epoch(try reader.number(UInt32.self, "epoch"))
    bias = try reader.varint()
    start = try reader.varint()
    end = try reader.varint()
    buildID = Array(try reader.blob())
    path = try reader.string()
  }
  func write(to writer: inout ByteWriter, previous: ImageRecord?) {
    writer.varint(id.rawValue)
    writer.varint(isLoad ? UInt8(1) : 0)
    writer.varint(epoch.rawValue)
    writer.varint(bias)
    writer.varint(start)
    writer.varint(end)
    writer.blob(buildID)
    writer.string(path)
  }
}

extension StackNode: ChunkRow {
  static var chunkKind: ChunkKind { .stacks }
  init(from reader: inout ByteReader, previous: StackNode?) throws(Malformed) {
    let node = Int64(previous?.id.rawValue ?? 0) &+ (try reader.zigzag())
    let above = node &- (try reader.zigzag())
    guard let id = UInt32(exactly: node), let parent = UInt32(exactly: above), id >= StackID.firstNode.rawValue else {
      throw Malformed("stack node \(node) with parent \(above) is out of range")
    }
    self.id = StackID(id)
    self.parent = StackID(parent)
    pc = ReturnAddress((previous?.pc.rawValue ?? 0) &+ UInt64(bitPattern: try reader.zigzag()))
    epoch = Epoch(try reader.number(UInt32.self, "epoch"))
    end = StackEnd(try reader.number(UInt8.self, "stack label"))
  }
  func write(to writer: inout ByteWriter, previous: StackNode?) {
    writer.zigzag(Int64(id.rawValue) - Int64(previous?.id.rawValue ?? 0))
    writer.zigzag(Int64(id.rawValue) - Int64(parent.rawValue))
    writer.zigzag(Int64(bitPattern: pc.rawValue &- (previous?.pc.rawValue ?? 0)))
    writer.varint(epoch.rawValue)
    writer.varint(end.rawValue)
  }
}

extension TypeRecord: ChunkRow {
  static var chunkKind: ChunkKind { .types }
  init(from reader: inout ByteReader, previous: TypeRecord?) throws(Malformed) {
    id = TypeID(try reader.number(UInt32.self, "type id"))
    kind = ObjectKind(try reader.number(UInt8.self, "object kind"))
    superclass = TypeID(try reader.number(UInt32.self, "superclass"))
    metadata = try reader.varint()
    instanceSize = try reader.varint()
    caller = ReturnAddress(try reader.varint())
    flags = try reader.varint()
    name = try reader.string()
  }
  func write(to writer: inout ByteWriter, previous: TypeRecord?) {
    writer.varint(id.rawValue)
    writer.varint(kind.rawValue)
    writer.varint(superclass.rawValue)
    writer.varint(metadata)
    writer.varint(instanceSize)
    writer.varint(caller.rawValue)
    writer.varint(flags)
    writer.string(name)
  }
}

extension SiteRecord: ChunkRow {
  static var chunkKind: ChunkKind { .sites }
  init(from reader: inout ByteReader, previous: SiteRecord?) throws(Malformed) {
    type = TypeID(try reader.number(UInt32.self, "type id"))
    stack = StackID(try reader.number(UInt32.self, "stack id"))
    size = ByteCount(try reader.number(Int64.self, "size"))
    // The recorder has 48 bits for a size; more than that would overflow sums.
    guard size.rawValue < 1 << 48 else { throw Malformed("size \(size) is out of range") }
  }
  func write(to writer: inout ByteWriter, previous: SiteRecord?) {
    writer.varint(type.rawValue)
    writer.varint(stack.rawValue)
    writer.varint(UInt64(bitPattern: size.rawValue))
  }
}

extension MarkRecord: ChunkRow {
  static var chunkKind: ChunkKind { .marks }
  init(from reader: inout ByteReader, previous: MarkRecord?) throws(Malformed) {
    closes = Generation(try reader.number(UInt32.self, "generation"))
    time = Ticks(try reader.zigzag())
    firstEvent = try reader.varint()
    name = try reader.string()
  }
  func write(to writer: inout ByteWriter, previous: MarkRecord?) {
    writer.varint(closes.rawValue)
    writer.zigzag(time.rawValue)
    writer.varint(firstEvent)
    writer.string(name)
  }
}

extension GapRecord: ChunkRow {
  static var chunkKind: ChunkKind { .gaps }
  init(from reader: inout ByteReader, previous: GapRecord?) throws(Malformed) {
    thread = ThreadID(try reader.number(UInt32.self, "thread number"))
    from = Ticks(try reader.zigzag())
    to = Ticks(try reader.zigzag())
    births = try reader.varint()
    deaths = try reader.varint()
    others = try reader.varint()
    reason = try reader.varint()
  }
  func write(to writer: inout ByteWriter, previous: GapRecord?) {
    writer.varint(thread.rawValue)
    writer.zigzag(from.rawValue)
    writer.zigzag(to.rawValue)
    writer.varint(births)
    writer.varint(deaths)
    writer.varint(others)
    writer.varint(reason)
  }
}

extension TaskRecord: ChunkRow {
  static var chunkKind: ChunkKind { .tasks }
  init(from reader: inout ByteReader, previous: TaskRecord?) throws(Malformed) {
    self.init(id: TaskID(try reader.varint()), parent: TaskID(try reader.varint()))
  }
  func write(to writer: inout ByteWriter, previous: TaskRecord?) {
    writer.varint(id.rawValue)
    writer.varint(parent.rawValue)
  }
}

extension TotalRecord: ChunkRow {
  static var chunkKind: ChunkKind { .totals }
  init(from reader: inout ByteReader, previous: TotalRecord?) throws(Malformed) {
    type = TypeID(try reader.number(UInt32.self, "type id"))
    generation = Generation(try reader.number(UInt32.self, "generation"))
    births = try reader.varint()
    bytes = try reader.varint()
  }
  func write(to writer: inout ByteWriter, previous: TotalRecord?) {
    writer.varint(type.rawValue)
    writer.varint(generation.rawValue)
    writer.varint(births)
    writer.varint(bytes)
  }
}

extension RecordingRecord: ChunkRow {
  static var chunkKind: ChunkKind { .recording }
  init(from reader: inout ByteReader, previous: RecordingRecord?) throws(Malformed) {
    self.init(time: Ticks(try reader.zigzag()), goesOn: try reader.varint() != 0)
  }
  func write(to writer: inout ByteWriter, previous: RecordingRecord?) {
    writer.zigzag(time.rawValue)
    writer.varint(goesOn ? UInt8(1) : 0)
  }
}

extension EndRecord: ChunkRow {
  static var chunkKind: ChunkKind { .end }
  init(from reader: inout ByteReader, previous: EndRecord?) throws(Malformed) {
    self.init(key: try reader.string(), value: try reader.varint())
  }
  func write(to writer: inout ByteWriter, previous: EndRecord?) {
    writer.string(key)
    writer.varint(value)
  }
}
