// From the scan's arrays to a HeapGraph, with names for what holds blocks from outside. Used by HeapPictureWork.

import CHeap
import LifespanTrace

/// Makes one graph.
struct HeapGraphMaking {
  private let heap: OpaquePointer
  private let blocks: HeapBlocks
  private let threads: [HeapThread]
  private var builder: HeapGraphBuilder
  private var places: HeapPlaces
  /// The graph's number of each label of the scan, and of each element that has one; `unknown` so far.
  private var labels: [UInt32]
  private var elements = [UInt32](repeating: Self.unknown, count: Int(Self.elementsNamed))
  private static let unknown = UInt32.max
  /// Elements beyond have no number of their own: their offset tells.
  private static let elementsNamed: UInt32 = 1000

  init(_ heap: OpaquePointer, _ blocks: HeapBlocks, _ threads: [HeapThread], _ head: HeapGraph.Head) {
    self.heap = heap
    self.blocks = blocks
    self.threads = threads
    builder = HeapGraphBuilder(head)
    places = HeapPlaces(heap, threads)
    labels = [UInt32](repeating: Self.unknown, count: heap_label_limit(heap))
    labels[0] = 0
  }

  consuming func graph() -> HeapGraph {
    var begin: UnsafePointer<UInt64>?
    let edges = heap_edges(heap, &begin)
    builder.reserve(nodes: blocks.count, edges: begin.map { Int($0[blocks.count]) } ?? 0)
    for index in 0..<blocks.count { addNode(index) }
    if let edges, let begin { for index in 0..<blocks.count { addEdges(index, edges, begin) } }
    addRoots()
    return builder.finish()
  }

  private mutating func addNode(_ index: Int) {
    let block = blocks.storage[index]
    let name = label(heap_name(heap, index))
    builder.addNode(
      address: block.address, size: block.size, serial: block.serial, type: TypeID(block.type), name: name,
      flags: HeapNodeFlags(rawValue: heap_flags(heap, index)))
  }

  private mutating func addEdges(
    _ index: Int, _ edges: UnsafePointer<heap_edge>, _ begin: UnsafePointer<UInt64>
  ) {
    for place in Int(begin[index])..<Int(begin[index + 1]) {
      let edge = edges[place]
      builder.addEdge(
        from: UInt32(index), to: edge.target, offset: edge.offset, label: label(edge.label),
        strength: HeapStrength(rawValue: UInt8(edge.strength)) ?? .conservative)
    }
  }

  // Asked for every node and edge.
  @inline(__always)
  private mutating func label(_ label: UInt32) -> UInt32 {
    if label & HEAP_ELEMENT != 0 { return element(label & ~HEAP_ELEMENT) }
    let known = labels[Int(label)]
    return known != Self.unknown ? known : newLabel(label)
  }

  private mutating func newLabel(_ label: UInt32) -> UInt32 {
    let id = builder.name(heap_label(heap, label).map { closureNamed(String(cString: $0)) } ?? "")
    labels[Int(label)] = id
    return id
  }

  private mutating func element(_ element: UInt32) -> UInt32 {
    if element >= Self.elementsNamed { return builder.name("[…]") }
    if elements[Int(element)] == Self.unknown { elements[Int(element)] = builder.name("[\(element)]") }
    return elements[Int(element)]
  }

  /// `property` and the mangled name of a closure's function behind it, as a person reads them.
  private func closureNamed(_ label: String) -> String {
    let parts = label.split(separator: "\u{1}", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return label }
    var function = places.names.function(String(parts[1]))
    for what in ["partial apply forwarder for ", "typeinfo for "] where function.hasPrefix(what) {
      function.removeFirst(what.count)
    }
    return parts[0].isEmpty ? function : "\(parts[0]): \(function)"
  }

  private mutating func addRoots() {
    var count = 0
    guard let roots = heap_roots(heap, &count) else { return }
    for index in 0..<count {
      let root = roots[index]
      let place = places.name(of: root)
      builder.addRoot(
        to: root.target, kind: HeapRootKind(rawValue: root.kind) ?? .unknown, isFirm: root.maybe == 0,
        label: builder.name(place.text), offset: place.offset, thread: thread(root.thread))
    }
  }

  private func thread(_ index: UInt32) -> ThreadID {
    Int(index) < threads.count ? ThreadID(threads[Int(index)].number) : .unknown
  }
}
