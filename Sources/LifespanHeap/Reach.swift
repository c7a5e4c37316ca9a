// What roots reach, and by which shortest way. One breadth-first walk from the firm roots, then one from the others.
import LifespanTrace

/// Which nodes are held, by what, and the shortest path to each.
struct Reach {
  /// No root reaches it.
  static let none: UInt8 = 0
  /// Only what may be a left-over reaches it: a word of a stack or a register.
  static let maybe: UInt8 = 1
  /// A global, a thread-local, other memory of the program reaches it.
  static let firm: UInt8 = 2
  static let nothing = UInt32.max

  let grades: [UInt8]
  /// The edge by which the shortest path comes to a node; `nothing` where a root refers to it.
  let edges: [UInt32]
  /// The root that refers to it, on the shortest path; `nothing` elsewhere.
  let rootPlaces: [UInt32]
  /// Reached nodes, nearest to a root first; those of firm roots before the others.
  let order: [UInt32]
  /// The picture's roots, and one for each node in flight.
  let roots: [HeapGraph.Root]

  init(_ holding: HoldingEdges) {
    let graph = holding.graph
    var roots = graph.roots
    for node in 0..<graph.nodes.count where graph.flags(node).contains(.inFlight) {
      roots.append(HeapGraph.Root(target: UInt32(node), kind: .inFlight))
    }
    var walk = Walk(holding)
    let places = roots.indices.sorted { (Reach.rank(roots[$0]), $0) < (Reach.rank(roots[$1]), $1) }
    for isFirm in [true, false] {
      for place in places where roots[place].isFirm == isFirm {
        walk.begin(Int(roots[place].target), root: place, grade: isFirm ? Reach.firm : Reach.maybe)
      }
      walk.run(holding)
    }
    grades = walk.grades
    edges = walk.edges
    rootPlaces = walk.rootPlaces
    order = walk.order
    self.roots = roots
  }

  /// Of several roots of one node the one that says most.
  private static func rank(_ root: HeapGraph.Root) -> Int {
    let named = root.label == 0 ? 10 : 0
    switch root.kind {
    case .global: return named
    case .threadLocal: return named + 1
    case .stack: return named + 2
    case .mapping: return named + 3
    case .register: return named + 4
    case .unknown: return named + 5
    case .inFlight: return named + 6
    }
  }

  private struct Walk {
    var grades: [UInt8]
    var edges: [UInt32]
    var rootPlaces: [UInt32]
    var order: [UInt32] = []
    private var next = 0

    init(_ holding: HoldingEdges) {
      grades = [UInt8](repeating: Reach.none, count: holding.count)
      edges = [UInt32](repeating: Reach.nothing, count: holding.count)
      rootPlaces = edges
    }

    mutating func begin(_ node: Int, root: Int, grade: UInt8) {
      guard grades[node] == Reach.none else { return }
      grades[node] = grade
      rootPlaces[node] = UInt32(root)
      order.append(UInt32(node))
    }

    mutating func run(_ holding: HoldingEdges) {
      let starts = holding.starts
      let targets = holding.targets
      let holds = holding.holds
      while next < order.count {
        let node = Int(order[next])
        next += 1
        for edge in Int(starts[node])..<Int(starts[node + 1]) where holds[edge] {
          let target = Int(targets[edge])
          guard grades[target] == Reach.none else { continue }
          grades[target] = grades[node]
          edges[target] = UInt32(edge)
          order.append(UInt32(target))
        }
      }
    }
  }
}
