// The columns of HEAP_NODES, HEAP_EDGES, HEAP_ROOTS and HEAP_NAMES: small differences as varints. Used by HeapChunk alone.
import CTraceFormat

/// Columns of one chunk, all of the same number of values.
struct HeapColumns {
  private let columns: Columns
  private let count: Int

  init(_ columns: Columns, count: Int) {
    self.columns = columns
    self.count = count
  }

  static func tag(_ number: UInt8) -> UInt8 { UInt8(LIFESPAN_HEAP_COLUMN) + number }

  /// All values of a column. Each takes at least a byte, so that a count that is only claimed takes no memory.
  private func values<Value>(
    _ number: UInt8, _ make: (inout VarintCursor) -> Value?
  ) throws(Malformed) -> [Value] {
    guard let bytes = columns[HeapColumns.tag(number)] else { throw Malformed("column \(number) is missing") }
    guard bytes.count >= count else { throw Malformed("column \(number) is too short") }
    var values: [Value] = []
    values.reserveCapacity(count)
    var cursor = VarintCursor(bytes)
    for _ in 0..<count {
      guard let value = make(&cursor) else { throw Malformed("a value of column \(number) is out of range") }
      values.append(value)
    }
    guard !cursor.failed, cursor.isAtEnd else { throw Malformed("column \(number) has another length than its count") }
    return values
  }

  private func numbers<N: FixedWidthInteger>(_ number: UInt8, _ type: N.Type) throws(Malformed) -> [N] {
    try values(number) { N(exactly: $0.varint()) }
  }

  private func ascending(_ number: UInt8) throws(Malformed) -> [UInt64] {
    var last: UInt64 = 0
    return try values(number) { cursor in
      let (next, overflow) = last.addingReportingOverflow(cursor.varint())
      last = next
      return overflow ? nil : next
    }
  }

  mutating func nodes() throws(Malformed) -> HeapGraph.Nodes {
    var nodes = HeapGraph.Nodes()
    nodes.addresses = try ascending(1)
    nodes.sizes = try numbers(2, UInt64.self)
    var last: UInt64 = 0
    nodes.serials = try values(3) { cursor in
      last &+= UInt64(bitPattern: cursor.zigzag())
      return last
    }
    // None is written as 0, which is the shortest.
    nodes.types = try values(4) { cursor in
      let value = cursor.varint()
      return value == 0 ? HeapGraph.noType : UInt32(exactly: value - 1)
    }
    nodes.names = try numbers(5, UInt32.self)
    nodes.flags = try numbers(6, UInt8.self)
    return nodes
  }

  mutating func edges() throws(Malformed) -> (sources: [UInt32], HeapGraph.Edges) {
    var edges = HeapGraph.Edges()
    edges.starts = []
    let sources: [UInt32] = try ascending(1).map { UInt32(truncatingIfNeeded: min($0, UInt64(UInt32.max))) }
    var place = 0
    edges.targets = try values(2) { cursor in
      defer { place += 1 }
      return UInt32(exactly: Int64(sources[place]) &+ cursor.zigzag())
    }
    edges.offsets = try numbers(3, UInt32.self)
    edges.labels = try numbers(4, UInt32.self)
    edges.strengths = try numbers(5, UInt8.self)
    return (sources, edges)
  }

  mutating func roots() throws(Malformed) -> [HeapGraph.Root] {
    let targets = try numbers(1, UInt32.self)
    let kinds = try numbers(2, UInt8.self)
    let grades = try numbers(3, UInt8.self)
    let labels = try numbers(4, UInt32.self)
    let offsets = try numbers(5, UInt64.self)
    let threads = try numbers(6, UInt32.self)
    return targets.indices.map {
      HeapGraph.Root(
        target: targets[$0], kind: HeapRootKind(coded: kinds[$0]), isFirm: grades[$0] == 0, label: labels[$0],
        offset: offsets[$0], thread: ThreadID(threads[$0]))
    }
  }

  mutating func names() throws(Malformed) -> [String] {
    guard let bytes = columns[HeapColumns.tag(1)] else { throw Malformed("column 1 is missing") }
    var reader = ByteReader(bytes)
    var names: [String] = []
    while names.count < count { names.append(try reader.string()) }
    guard reader.isAtEnd else { throw Malformed("bytes after the last name") }
    return names
  }

  private static func column<Values: Collection>(
    _ number: UInt8, _ values: Values, _ payload: inout ByteWriter, _ value: (Values.Element) -> UInt64
  ) {
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(values.count + 16)
    for element in values { writer.varint(value(element)) }
    payload.column(tag(number), writer.bytes)
  }

  private static func begin(_ first: UInt32, _ count: Int, _ head: inout ByteWriter, _ payload: inout ByteWriter) {
    head.varint(first)
    head.varint(UInt64(count))
    payload.column(UInt8(LIFESPAN_HEAP_HEAD), head.bytes)
  }

  static func write(
    _ nodes: HeapGraph.Nodes, _ first: UInt32, _ head: inout ByteWriter, _ payload: inout ByteWriter
  ) {
    begin(first, nodes.count, &head, &payload)
    var last: UInt64 = 0
    column(1, nodes.addresses, &payload) { address in
      defer { last = address }
      return address - last
    }
    column(2, nodes.sizes, &payload) { $0 }
    last = 0
    column(3, nodes.serials, &payload) { serial in
      defer { last = serial }
      return Int64(bitPattern: serial &- last).zigzag
    }
    column(4, nodes.types, &payload) { $0 == HeapGraph.noType ? 0 : UInt64($0) + 1 }
    column(5, nodes.names, &payload) { UInt64($0) }
    column(6, nodes.flags, &payload) { UInt64($0) }
  }

  static func write(
    _ sources: [UInt32], _ edges: HeapGraph.Edges, _ first: UInt32, _ head: inout ByteWriter,
    _ payload: inout ByteWriter
  ) {
    begin(first, sources.count, &head, &payload)
    var last: UInt32 = 0
    column(1, sources, &payload) { source in
      defer { last = source }
      return UInt64(source - last)
    }
    column(2, sources.indices, &payload) { (Int64(edges.targets[$0]) - Int64(sources[$0])).zigzag }
    column(3, edges.offsets, &payload) { UInt64($0) }
    column(4, edges.labels, &payload) { UInt64($0) }
    column(5, edges.strengths, &payload) { UInt64($0) }
  }

  static func write(
    _ roots: [HeapGraph.Root], _ first: UInt32, _ head: inout ByteWriter, _ payload: inout ByteWriter
  ) {
    begin(first, roots.count, &head, &payload)
    column(1, roots, &payload) { UInt64($0.target) }
    column(2, roots, &payload) { UInt64($0.kind.rawValue) }
    column(3, roots, &payload) { $0.isFirm ? 0 : 1 }
    column(4, roots, &payload) { UInt64($0.label) }
    column(5, roots, &payload) { $0.offset }
    column(6, roots, &payload) { UInt64($0.thread.rawValue) }
  }

  static func write(_ names: [String], _ first: UInt32, _ head: inout ByteWriter, _ payload: inout ByteWriter) {
    begin(first, names.count, &head, &payload)
    var writer = ByteWriter()
    for name in names { writer.string(name) }
    payload.column(tag(1), writer.bytes)
  }
}
