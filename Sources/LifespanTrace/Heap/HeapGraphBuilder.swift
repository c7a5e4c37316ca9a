// Makes a HeapGraph of nodes, edges and roots in whatever order they are found. Used by the recording command and by tests.

/// Collects the picture of a heap.
///
/// ```swift
/// var builder = HeapGraphBuilder(HeapGraph.Head(number: 1, time: now))
/// let list = builder.addNode(address: 0x1000, size: 32, type: TypeID(1))
/// let item = builder.addNode(address: 0x1020, size: 48, type: TypeID(2))
/// builder.addEdge(from: list, to: item, offset: 16, label: builder.name("first"))
/// builder.addRoot(to: list, kind: .global, label: builder.name("App.list"))
/// let graph = builder.finish()
/// ```
/// Adding nodes in the order of their addresses, and edges in that of their sources, saves sorting them.
public struct HeapGraphBuilder: Sendable {
  /// When, why, how completely; may be changed until `finish`.
  public var head: HeapGraph.Head
  private var graph: HeapGraph
  private var sources: [UInt32] = []
  private var ids: [String: UInt32] = ["": 0]
  private var isInOrder = true

  /// Begins a picture.
  public init(_ head: HeapGraph.Head) {
    self.head = head
    graph = HeapGraph(head)
  }

  /// Nodes so far.
  public var nodeCount: Int { graph.nodes.count }
  /// Edges so far.
  public var edgeCount: Int { graph.edges.count }

  /// Makes room at once for what is known to come.
  public mutating func reserve(nodes: Int, edges: Int = 0) {
    graph.nodes.addresses.reserveCapacity(nodes)
    graph.nodes.sizes.reserveCapacity(nodes)
    graph.nodes.serials.reserveCapacity(nodes)
    graph.nodes.types.reserveCapacity(nodes)
    graph.nodes.names.reserveCapacity(nodes)
    graph.nodes.flags.reserveCapacity(nodes)
    sources.reserveCapacity(edges)
    graph.edges.targets.reserveCapacity(edges)
    graph.edges.offsets.reserveCapacity(edges)
    graph.edges.labels.reserveCapacity(edges)
    graph.edges.strengths.reserveCapacity(edges)
  }

  /// The number of a text.
  public mutating func name(_ text: String) -> UInt32 {
    if let known = ids[text] { return known }
    let id = UInt32(graph.names.count)
    ids[text] = id
    graph.names.append(text)
    return id
  }

  /// Adds a block; its number for edges and roots (until `finish`, which may number anew). `serial` 0: the recorder does not
  /// know it; `type` nil: it has none.
  @discardableResult
  public mutating func addNode(
    address: UInt64, size: UInt64, serial: UInt64 = 0, type: TypeID? = nil, name: UInt32 = 0, flags: HeapNodeFlags = []
  ) -> UInt32 {
    if let last = graph.nodes.addresses.last, last > address { isInOrder = false }
    graph.nodes.addresses.append(address)
    graph.nodes.sizes.append(size)
    graph.nodes.serials.append(serial)
    graph.nodes.types.append(type?.rawValue ?? HeapGraph.noType)
    graph.nodes.names.append(name)
    graph.nodes.flags.append(flags.rawValue)
    return UInt32(graph.nodes.count - 1)
  }

  /// What is learnt about a block later.
  public mutating func describe(_ node: UInt32, name: UInt32? = nil, adding flags: HeapNodeFlags = []) {
    if let name { graph.nodes.names[Int(node)] = name }
    graph.nodes.flags[Int(node)] |= flags.rawValue
  }

  /// Adds a reference in the block `source`, `offset` bytes into it.
  public mutating func addEdge(
    from source: UInt32, to target: UInt32, offset: UInt32, label: UInt32 = 0, strength: HeapStrength = .strong
  ) {
    sources.append(source)
    graph.edges.targets.append(target)
    graph.edges.offsets.append(offset)
    graph.edges.labels.append(label)
    graph.edges.strengths.append(strength.rawValue)
  }

  /// Adds what holds a block from outside of the heap.
  public mutating func addRoot(
    to target: UInt32, kind: HeapRootKind, isFirm: Bool = true, label: UInt32 = 0, offset: UInt64 = 0,
    thread: ThreadID = .unknown
  ) {
    graph.roots.append(
      HeapGraph.Root(target: target, kind: kind, isFirm: isFirm, label: label, offset: offset, thread: thread))
  }

  /// The picture. Edges and roots of nodes that there are not are left out.
  public consuming func finish() -> HeapGraph {
    graph.head = head
    let count = graph.nodes.count
    if !isInOrder { sortNodes() }
    graph.roots.removeAll { Int($0.target) >= count }
    groupEdges()
    return graph
  }

  private mutating func sortNodes() {
    let nodes = graph.nodes
    let order = nodes.addresses.indices.sorted {
      (nodes.addresses[$0], $0) < (nodes.addresses[$1], $1)
    }
    var places = [UInt32](repeating: 0, count: order.count)
    for (new, old) in order.enumerated() { places[old] = UInt32(new) }
    graph.nodes.addresses = order.map { nodes.addresses[$0] }
    graph.nodes.sizes = order.map { nodes.sizes[$0] }
    graph.nodes.serials = order.map { nodes.serials[$0] }
    graph.nodes.types = order.map { nodes.types[$0] }
    graph.nodes.names = order.map { nodes.names[$0] }
    graph.nodes.flags = order.map { nodes.flags[$0] }
    func moved(_ node: UInt32) -> UInt32 { Int(node) < places.count ? places[Int(node)] : node }
    sources = sources.map(moved)
    graph.edges.targets = graph.edges.targets.map(moved)
    for index in graph.roots.indices { graph.roots[index].target = moved(graph.roots[index].target) }
  }

  /// Puts the edges behind each other by their sources: counted, then placed, which keeps the order within a source.
  private mutating func groupEdges() {
    let count = graph.nodes.count
    var starts = [UInt32](repeating: 0, count: count + 1)
    var isGrouped = true
    var kept = 0
    for (index, source) in sources.enumerated() {
      guard Int(source) < count, Int(graph.edges.targets[index]) < count else {
        isGrouped = false
        continue
      }
      if index > 0, sources[index - 1] > source { isGrouped = false }
      starts[Int(source) + 1] += 1
      kept += 1
    }
    for node in 0..<count { starts[node + 1] += starts[node] }
    if !isGrouped {
      let edges = graph.edges
      graph.edges.targets = [UInt32](repeating: 0, count: kept)
      graph.edges.offsets = [UInt32](repeating: 0, count: kept)
      graph.edges.labels = [UInt32](repeating: 0, count: kept)
      graph.edges.strengths = [UInt8](repeating: 0, count: kept)
      var next = starts
      for (index, source) in sources.enumerated() where Int(source) < count && Int(edges.targets[index]) < count {
        let place = Int(next[Int(source)])
        next[Int(source)] += 1
        graph.edges.targets[place] = edges.targets[index]
        graph.edges.offsets[place] = edges.offsets[index]
        graph.edges.labels[place] = edges.labels[index]
        graph.edges.strengths[place] = edges.strengths[index]
      }
    }
    graph.edges.starts = starts
  }
}
