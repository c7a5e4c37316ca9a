// The dominator tree: what would go if an object went. Lengauer and Tarjan's algorithm, without recursion.
import LifespanTrace

/// Who dominates whom among the nodes that roots reach, and the bytes that each retains.
///
/// A node's dominator is the nearest one through which every path from a root goes. Time: edges × log nodes. Memory: 36 bytes a
/// node while it is made, 12 after.
struct Dominators {
  /// What stands for "the roots": nothing but a root dominates it.
  static let roots = UInt32.max

  /// The immediate dominator of each node; `roots` also of nodes that are not reached.
  let dominator: [UInt32]
  /// Bytes of a node and of all that it dominates; 0 of what is not reached.
  let retained: [UInt64]
  /// Nodes dominators first.
  let order: [UInt32]

  init(_ holding: HoldingEdges, _ reach: Reach) {
    var tree = Tree(holding, reach)
    tree.search(holding)
    tree.solve(holding, reach)
    var dominator = [UInt32](repeating: Dominators.roots, count: holding.count)
    var retained = [UInt64](repeating: 0, count: holding.count)
    for number in 1..<max(1, tree.nodes.count) {
      let node = Int(tree.nodes[number])
      let above = tree.dominator[number]
      dominator[node] = above == 0 ? Dominators.roots : tree.nodes[Int(above)]
      retained[node] = holding.graph.nodes.sizes[node]
    }
    for number in stride(from: tree.nodes.count - 1, to: 0, by: -1) {
      let node = Int(tree.nodes[number])
      let above = dominator[node]
      if above != Dominators.roots { retained[Int(above)] &+= retained[node] }
    }
    self.dominator = dominator
    self.retained = retained
    order = Array(tree.nodes.dropFirst())
  }

  /// Everything by number in the order of a depth-first search; number 0 stands for the roots.
  private struct Tree {
    var nodes: [UInt32] = [0]
    var numbers: [UInt32]
    var parent: [UInt32] = [0]
    var dominator: [UInt32] = []
    private let starts: [UInt32]

    init(_ holding: HoldingEdges, _ reach: Reach) {
      numbers = [UInt32](repeating: 0, count: holding.count)
      // A left-over on a stack takes nothing from those who firmly hold an object.
      let firm = reach.roots.filter { $0.isFirm }.map(\.target)
      starts = firm + reach.roots.map(\.target).filter { reach.grades[Int($0)] == Reach.maybe }
      nodes.reserveCapacity(reach.order.count + 1)
      parent.reserveCapacity(reach.order.count + 1)
    }

    mutating func search(_ holding: HoldingEdges) {
      let firsts = holding.starts
      var path: [(number: UInt32, edge: UInt32)] = []
      func enter(_ tree: inout Tree, _ node: UInt32, _ above: UInt32) {
        let number = UInt32(tree.nodes.count)
        tree.numbers[Int(node)] = number
        tree.nodes.append(node)
        tree.parent.append(above)
        path.append((number, firsts[Int(node)]))
      }
      for start in starts where numbers[Int(start)] == 0 {
        enter(&self, start, 0)
        while let top = path.last {
          let node = Int(nodes[Int(top.number)])
          var edge = Int(top.edge)
          let end = Int(firsts[node + 1])
          while edge < end, !holding.holds[edge] || numbers[holding.target(edge)] != 0 { edge += 1 }
          path[path.count - 1].edge = UInt32(edge)
          if edge < end {
            enter(&self, UInt32(holding.target(edge)), top.number)
          } else {
            path.removeLast()
          }
        }
      }
    }

    mutating func solve(_ holding: HoldingEdges, _ reach: Reach) {
      let count = nodes.count
      var forest = Forest(count)
      var isStart = [Bool](repeating: false, count: holding.count)
      for start in starts { isStart[Int(start)] = true }
      dominator = [UInt32](repeating: 0, count: count)
      // Those whose half-dominator is a node, as a list through it.
      var bucket = [UInt32](repeating: 0, count: count)
      var nextInBucket = bucket
      for number in stride(from: count - 1, to: 0, by: -1) {
        let node = Int(nodes[number])
        var half = isStart[node] ? 0 : parent[number]
        for edge in holding.edges(into: node) where holding.holds[Int(edge)] {
          let source = numbers[Int(holding.sources[Int(edge)])]
          guard source != 0, reach.grades[Int(nodes[Int(source)])] >= reach.grades[node] else { continue }
          half = min(half, forest.half[Int(forest.best(source))])
        }
        forest.half[number] = half
        nextInBucket[number] = bucket[Int(half)]
        bucket[Int(half)] = UInt32(number)
        let above = parent[number]
        forest.link(UInt32(number), to: above)
        var waiting = bucket[Int(above)]
        bucket[Int(above)] = 0
        while waiting != 0 {
          let best = forest.best(waiting)
          dominator[Int(waiting)] = forest.half[Int(best)] < forest.half[Int(waiting)] ? best : above
          waiting = nextInBucket[Int(waiting)]
        }
      }
      for number in 1..<max(1, count) where dominator[number] != forest.half[number] {
        dominator[number] = dominator[Int(dominator[number])]
      }
    }
  }

  /// Trees that grow by links, with the number of least half-dominator on the way up, found with path compression.
  private struct Forest {
    private static let none = UInt32.max
    var half: [UInt32]
    private var ancestor: [UInt32]
    private var label: [UInt32]
    private var way: [UInt32] = []

    init(_ count: Int) {
      half = Array(0..<UInt32(count))
      label = half
      ancestor = [UInt32](repeating: Forest.none, count: count)
    }

    mutating func link(_ number: UInt32, to above: UInt32) { ancestor[Int(number)] = above }

    mutating func best(_ number: UInt32) -> UInt32 {
      guard ancestor[Int(number)] != Forest.none else { return number }
      // Up to the node below the tree's root, then back down.
      way.removeAll(keepingCapacity: true)
      var top = number
      while ancestor[Int(ancestor[Int(top)])] != Forest.none {
        way.append(top)
        top = ancestor[Int(top)]
      }
      while let node = way.popLast() {
        let above = ancestor[Int(node)]
        if half[Int(label[Int(above)])] < half[Int(label[Int(node)])] { label[Int(node)] = label[Int(above)] }
        ancestor[Int(node)] = ancestor[Int(above)]
      }
      return label[Int(number)]
    }
  }
}
