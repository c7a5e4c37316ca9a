// Strongly connected components of some nodes: Tarjan's algorithm with a stack of its own, as lists of a million nodes are
// deeper than any thread's.

/// The components of the chosen nodes under the edges that hold.
struct Components {
  static let none = UInt32.max

  /// The component of each node; `none` of nodes that were not chosen.
  private(set) var numbers: [UInt32]
  /// How many.
  private(set) var count = 0
  /// Whether a component is a cycle: several nodes, or one that holds itself.
  private(set) var isCycle: [Bool] = []
  /// Whether something of another chosen component holds it.
  private(set) var isHeld: [Bool] = []

  init(_ holding: HoldingEdges, _ chosen: [Bool]) {
    numbers = [UInt32](repeating: Components.none, count: holding.count)
    var search = Search(holding.count)
    for root in 0..<holding.count where chosen[root] && search.index[root] == 0 {
      visit(root, holding, chosen, &search)
    }
    isHeld = [Bool](repeating: false, count: count)
    let targets = holding.targets
    for edge in targets.indices where holding.holds[edge] {
      let source = Int(holding.sources[edge])
      let target = Int(targets[edge])
      guard chosen[source], chosen[target] else { continue }
      if numbers[source] != numbers[target] { isHeld[Int(numbers[target])] = true }
      if source == target { isCycle[Int(numbers[source])] = true }
    }
  }

  private struct Search {
    // 0: not seen yet.
    var index: [UInt32]
    var low: [UInt32]
    var open: [UInt32] = []
    var path: [(node: UInt32, edge: UInt32)] = []
    var last: UInt32 = 0

    init(_ count: Int) {
      index = [UInt32](repeating: 0, count: count)
      low = index
    }

    mutating func enter(_ node: Int, _ firstEdge: UInt32) {
      last += 1
      index[node] = last
      low[node] = last
      open.append(UInt32(node))
      path.append((UInt32(node), firstEdge))
    }
  }

  private mutating func visit(_ root: Int, _ holding: HoldingEdges, _ chosen: [Bool], _ search: inout Search) {
    let starts = holding.starts
    search.enter(root, starts[root])
    while let top = search.path.last {
      let node = Int(top.node)
      var edge = Int(top.edge)
      let end = Int(starts[node + 1])
      var next: Int?
      while edge < end {
        defer { edge += 1 }
        let target = holding.target(edge)
        guard holding.holds[edge], chosen[target] else { continue }
        if search.index[target] == 0 {
          next = target
          break
        }
        if numbers[target] == Components.none { search.low[node] = min(search.low[node], search.index[target]) }
      }
      search.path[search.path.count - 1].edge = UInt32(edge)
      if let next {
        search.enter(next, starts[next])
        continue
      }
      search.path.removeLast()
      if let parent = search.path.last.map({ Int($0.node) }) {
        search.low[parent] = min(search.low[parent], search.low[node])
      }
      if search.low[node] == search.index[node] { close(node, &search) }
    }
  }

  private mutating func close(_ node: Int, _ search: inout Search) {
    var size = 0
    while let member = search.open.popLast() {
      numbers[Int(member)] = UInt32(count)
      size += 1
      if Int(member) == node { break }
    }
    isCycle.append(size > 1)
    count += 1
  }
}
