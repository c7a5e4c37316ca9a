// A picture of the heap as chunks, and back. Written by the recording command, read by Trace.heapGraph(_:).

extension HeapGraph {
  /// Values of a chunk: it then takes a few MiB at most, whoever writes or reads it.
  public static let chunkLength = 1 << 18
  /// Bytes of names in a chunk, at most (of one longer name: that alone).
  static let nameBytes = 1 << 20

  /// How much of everything there is.
  public var counts: HeapCounts {
    HeapCounts(
      nodes: UInt32(nodes.count), edges: UInt32(edges.count), roots: UInt32(roots.count), names: UInt32(names.count))
  }

  /// Hands out the picture's chunks in the order in which they are to be written, each made when its turn comes.
  public func forEachChunk(length: Int = HeapGraph.chunkLength, _ use: (ChunkKind, [UInt8]) -> Void) {
    func give(_ chunk: HeapChunk) { use(chunk.kind, chunk.encoded()) }
    give(.head(head, counts))
    forEachRange(nodes.count, length) { range in
      var part = Nodes()
      part.addresses = Array(nodes.addresses[range])
      part.sizes = Array(nodes.sizes[range])
      part.serials = Array(nodes.serials[range])
      part.types = Array(nodes.types[range])
      part.names = Array(nodes.names[range])
      part.flags = Array(nodes.flags[range])
      give(.nodes(picture: head.number, first: UInt32(range.lowerBound), part))
    }
    var source = 0
    forEachRange(edges.count, length) { range in
      var part = Edges()
      part.starts = []
      part.targets = Array(edges.targets[range])
      part.offsets = Array(edges.offsets[range])
      part.labels = Array(edges.labels[range])
      part.strengths = Array(edges.strengths[range])
      var sources: [UInt32] = []
      sources.reserveCapacity(range.count)
      for edge in range {
        while Int(edges.starts[source + 1]) <= edge { source += 1 }
        sources.append(UInt32(source))
      }
      give(.edges(picture: head.number, first: UInt32(range.lowerBound), sources: sources, part))
    }
    forEachRange(roots.count, length) { range in
      give(.roots(picture: head.number, first: UInt32(range.lowerBound), Array(roots[range])))
    }
    giveNames(length, give)
  }

  /// All chunks of the picture.
  public func chunks() -> [(kind: ChunkKind, payload: [UInt8])] {
    var all: [(kind: ChunkKind, payload: [UInt8])] = []
    forEachChunk { all.append((kind: $0, payload: $1)) }
    return all
  }

  private func forEachRange(_ count: Int, _ length: Int, _ use: (Range<Int>) -> Void) {
    for start in stride(from: 0, to: count, by: length) { use(start..<min(count, start + length)) }
  }

  private func giveNames(_ length: Int, _ give: (HeapChunk) -> Void) {
    var start = 0
    while start < names.count {
      var end = start
      var bytes = 0
      repeat {
        bytes += names[end].utf8.count
        end += 1
      } while end < names.count && end - start < length && bytes < HeapGraph.nameBytes
      give(.names(picture: head.number, first: UInt32(start), Array(names[start..<end])))
      start = end
    }
  }
}

/// Puts a picture together from its chunks.
struct HeapGraphReader {
  private(set) var graph: HeapGraph
  private let counts: HeapCounts
  private var edgeSources: UInt32 = 0

  init(_ head: HeapGraph.Head, _ counts: HeapCounts) {
    graph = HeapGraph(head)
    graph.names = []
    self.counts = counts
  }

  /// Takes the next chunk of the picture.
  mutating func take(_ chunk: HeapChunk) throws(Malformed) {
    switch chunk {
    case .head: throw Malformed("a picture begins twice")
    case .nodes(_, let first, let part): try add(part, first)
    case .edges(_, let first, let sources, let part): try add(part, sources, first)
    case .roots(_, let first, let part):
      try expect(first, graph.roots.count, part.count, counts.roots)
      let nodes = graph.nodes.count
      guard part.allSatisfy({ Int($0.target) < nodes && $0.label < counts.names }) else {
        throw Malformed("a root of a node that is not there")
      }
      graph.roots += part
    case .names(_, let first, let part):
      try expect(first, graph.names.count, part.count, counts.names)
      graph.names += part
    }
  }

  private func expect(_ first: UInt32, _ have: Int, _ more: Int, _ limit: UInt32) throws(Malformed) {
    guard Int(first) == have else { throw Malformed("a part of a picture is missing or stands twice") }
    guard have + more <= Int(limit) else { throw Malformed("more of a picture than it announced") }
  }

  private mutating func add(_ part: HeapGraph.Nodes, _ first: UInt32) throws(Malformed) {
    try expect(first, graph.nodes.count, part.count, counts.nodes)
    guard part.names.allSatisfy({ $0 < counts.names }) else { throw Malformed("a node of a name that is not there") }
    if let last = graph.nodes.addresses.last, let next = part.addresses.first, next < last {
      throw Malformed("nodes are out of order")
    }
    graph.nodes.addresses += part.addresses
    graph.nodes.sizes += part.sizes
    graph.nodes.serials += part.serials
    graph.nodes.types += part.types
    graph.nodes.names += part.names
    graph.nodes.flags += part.flags
  }

  private mutating func add(_ part: HeapGraph.Edges, _ sources: [UInt32], _ first: UInt32) throws(Malformed) {
    try expect(first, graph.edges.count, part.count, counts.edges)
    var edge = first
    let nodes = graph.nodes.count
    for (index, source) in sources.enumerated() {
      guard Int(source) < nodes, Int(part.targets[index]) < nodes, part.labels[index] < counts.names else {
        throw Malformed("an edge of a node that is not there")
      }
      guard source >= edgeSources else { throw Malformed("edges are out of order") }
      // starts[n] is set when the first source ≥ n comes.
      while graph.edges.starts.count <= Int(source) { graph.edges.starts.append(edge) }
      edgeSources = source
      edge += 1
    }
    graph.edges.targets += part.targets
    graph.edges.offsets += part.offsets
    graph.edges.labels += part.labels
    graph.edges.strengths += part.strengths
  }

  /// The picture, whole; nil where parts of it are missing (a file that was cut).
  consuming func finish() -> HeapGraph? {
    guard graph.counts == counts else { return nil }
    let end = UInt32(graph.edges.count)
    while graph.edges.starts.count <= graph.nodes.count { graph.edges.starts.append(end) }
    return graph
  }
}
