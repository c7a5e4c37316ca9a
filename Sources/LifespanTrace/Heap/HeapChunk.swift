// The five kinds of chunks that hold a picture of the heap, each a few columns. Written by HeapGraph+Chunks, read by
// HeapGraphReader and by `dump`. TraceFormat.md describes the columns.
import CTraceFormat

/// A part of a picture, as it stands in one chunk.
public enum HeapChunk: Sendable, Equatable {
  /// HEAP: the head, and how much of everything there is.
  case head(HeapGraph.Head, HeapCounts)
  /// HEAP_NODES.
  case nodes(picture: UInt32, first: UInt32, HeapGraph.Nodes)
  /// HEAP_EDGES: for each the node that it stands in.
  case edges(picture: UInt32, first: UInt32, sources: [UInt32], HeapGraph.Edges)
  /// HEAP_ROOTS.
  case roots(picture: UInt32, first: UInt32, [HeapGraph.Root])
  /// HEAP_NAMES.
  case names(picture: UInt32, first: UInt32, [String])

  /// The kind of chunk.
  public var kind: ChunkKind {
    switch self {
    case .head: .heap
    case .nodes: .heapNodes
    case .edges: .heapEdges
    case .roots: .heapRoots
    case .names: .heapNames
    }
  }

  /// The picture that it belongs to.
  public var picture: UInt32 {
    switch self {
    case .head(let head, _): head.number
    case .nodes(let picture, _, _), .edges(let picture, _, _, _), .roots(let picture, _, _), .names(let picture, _, _):
      picture
    }
  }
}

/// How much of everything a whole picture holds.
public struct HeapCounts: Sendable, Hashable {
  /// Nodes.
  public var nodes: UInt32
  /// Edges.
  public var edges: UInt32
  /// Roots.
  public var roots: UInt32
  /// Names, the empty first one with them.
  public var names: UInt32

  /// Memberwise.
  public init(nodes: UInt32, edges: UInt32, roots: UInt32, names: UInt32) {
    self.nodes = nodes
    self.edges = edges
    self.roots = roots
    self.names = names
  }
}

extension HeapChunk {
  private static let headTag = UInt8(LIFESPAN_HEAP_HEAD)
  private static let noteTag = HeapColumns.tag(1)
  private static let known = Set<UInt8>([headTag] + (1...6).map { UInt8(LIFESPAN_HEAP_COLUMN) + $0 })

  /// A chunk's content; nil where the kind is none of a picture's.
  init?(_ kind: ChunkKind, _ payload: UnsafeRawBufferPointer) throws(PayloadFailure) {
    guard kind.isHeap else { return nil }
    let columns = try Columns(payload, known: HeapChunk.known)
    guard let headBytes = columns[HeapChunk.headTag] else { throw .damaged("no head") }
    do throws(Malformed) {
      var head = ByteReader(headBytes)
      let picture = try head.number(UInt32.self, "picture")
      if kind == .heap {
        self = try HeapChunk.readHead(picture, &head, columns[HeapChunk.noteTag])
        return
      }
      let first = try head.number(UInt32.self, "first")
      let count = try head.number(UInt32.self, "count")
      var reader = HeapColumns(columns, count: Int(count))
      switch kind {
      case .heapNodes: self = .nodes(picture: picture, first: first, try reader.nodes())
      case .heapEdges:
        let (sources, edges) = try reader.edges()
        self = .edges(picture: picture, first: first, sources: sources, edges)
      case .heapRoots: self = .roots(picture: picture, first: first, try reader.roots())
      default: self = .names(picture: picture, first: first, try reader.names())
      }
    } catch {
      throw .malformed(error)
    }
  }

  private static func readHead(
    _ number: UInt32, _ reader: inout ByteReader, _ notes: UnsafeRawBufferPointer?
  ) throws(Malformed) -> HeapChunk {
    let time = TraceTime(try reader.zigzag())
    let point: HeapGraph.Point
    switch (try reader.varint(), Generation(try reader.number(UInt32.self, "generation"))) {
    case (UInt64(LIFESPAN_HEAP_AT_EXIT), _): point = .exit
    case (UInt64(LIFESPAN_HEAP_AT_MARK), let generation): point = .mark(generation)
    default: point = .request
    }
    var head = HeapGraph.Head(number: number, time: time, point: point)
    head.pauseNanoseconds = try reader.varint()
    head.objectsChecked = try reader.varint()
    head.isComplete = try reader.varint() != 0
    let counts = HeapCounts(
      nodes: try reader.number(UInt32.self, "nodes"), edges: try reader.number(UInt32.self, "edges"),
      roots: try reader.number(UInt32.self, "roots"), names: try reader.number(UInt32.self, "names"))
    guard let notes else { throw Malformed("no notes") }
    var texts = ByteReader(notes)
    while !texts.isAtEnd { head.notes.append(try texts.string()) }
    return .head(head, counts)
  }

  /// The payload.
  func encoded() -> [UInt8] {
    var head = ByteWriter()
    head.varint(picture)
    var payload = ByteWriter()
    switch self {
    case .head(let picture, let counts):
      HeapChunk.write(picture, counts, &head)
      payload.column(HeapChunk.headTag, head.bytes)
      var notes = ByteWriter()
      for note in picture.notes { notes.string(note) }
      payload.column(HeapChunk.noteTag, notes.bytes)
      return payload.bytes
    case .nodes(_, let first, let nodes): HeapColumns.write(nodes, first, &head, &payload)
    case .edges(_, let first, let sources, let edges): HeapColumns.write(sources, edges, first, &head, &payload)
    case .roots(_, let first, let roots): HeapColumns.write(roots, first, &head, &payload)
    case .names(_, let first, let names): HeapColumns.write(names, first, &head, &payload)
    }
    return payload.bytes
  }

  private static func write(_ head: HeapGraph.Head, _ counts: HeapCounts, _ writer: inout ByteWriter) {
    writer.zigzag(head.time.rawValue)
    let point: (UInt64, UInt64)
    switch head.point {
    case .exit: point = (UInt64(LIFESPAN_HEAP_AT_EXIT), 0)
    case .mark(let generation): point = (UInt64(LIFESPAN_HEAP_AT_MARK), UInt64(generation.rawValue))
    case .request: point = (UInt64(LIFESPAN_HEAP_ON_REQUEST), 0)
    }
    writer.varint(point.0)
    writer.varint(point.1)
    writer.varint(head.pauseNanoseconds)
    writer.varint(head.objectsChecked)
    writer.varint(head.isComplete ? 1 as UInt64 : 0)
    for count in [counts.nodes, counts.edges, counts.roots, counts.names] { writer.varint(count) }
  }
}
