// Which references of a picture keep their target, forwards and backwards. Made once a picture, used by every question to it.
import LifespanTrace

/// The edges that hold. Memory: 9 bytes an edge and 4 a node.
struct HoldingEdges {
  let graph: HeapGraph
  // The picture's own columns: to ask it for each value costs more.
  let starts: [UInt32]
  let targets: [UInt32]
  /// Of each edge, whether it keeps its target.
  let holds: [Bool]
  /// The node that each edge stands in.
  let sources: [UInt32]
  private let backStarts: [UInt32]
  private let backEdges: [UInt32]

  init(_ graph: HeapGraph) {
    self.graph = graph
    let count = graph.nodes.count
    let targets = graph.edges.targets
    let strengths = graph.edges.strengths
    let flags = graph.nodes.flags
    let starts = graph.edges.starts
    var holds = [Bool](repeating: false, count: targets.count)
    var sources = [UInt32](repeating: 0, count: targets.count)
    var backStarts = [UInt32](repeating: 0, count: count + 1)
    for node in 0..<count {
      let source = HeapNodeFlags(rawValue: flags[node])
      for edge in Int(starts[node])..<Int(starts[node + 1]) {
        let target = Int(targets[edge])
        sources[edge] = UInt32(node)
        holds[edge] = HoldingEdges.holds(
          HeapStrength(rawValue: strengths[edge]) ?? .conservative, from: source,
          to: HeapNodeFlags(rawValue: flags[target]))
        backStarts[target + 1] += 1
      }
    }
    for node in 0..<count { backStarts[node + 1] += backStarts[node] }
    var next = backStarts
    var backEdges = [UInt32](repeating: 0, count: targets.count)
    for edge in targets.indices {
      let target = Int(targets[edge])
      backEdges[Int(next[target])] = UInt32(edge)
      next[target] += 1
    }
    self.starts = starts
    self.targets = targets
    self.holds = holds
    self.sources = sources
    self.backStarts = backStarts
    self.backEdges = backEdges
  }

  /// Free memory holds nothing, a side table not its object, what was deinited only its own side table. A weak reference holds
  /// the side table, an unowned one the memory of what was deinited.
  private static func holds(_ strength: HeapStrength, from source: HeapNodeFlags, to target: HeapNodeFlags) -> Bool {
    if source.contains(.freeMemory) || source.contains(.sideTable) || target.contains(.freeMemory) { return false }
    if target.contains(.sideTable) { return true }
    if source.contains(.deinited) { return false }
    return strength.holds || (strength == .unowned && target.contains(.deinited))
  }

  var count: Int { graph.nodes.count }

  @inline(__always)
  func target(_ edge: Int) -> Int { Int(targets[edge]) }

  /// The edges into a node, whether they hold or not.
  func edges(into node: Int) -> ArraySlice<UInt32> { backEdges[Int(backStarts[node])..<Int(backStarts[node + 1])] }
}
