// Who holds an object: its direct holders, ways from a root, and what would go with it.
import LifespanAnalysis
import LifespanTrace

/// Which objects a question about holders is about.
public enum HeapSelector: Sendable, Hashable {
  /// The object of that number.
  case serial(SerialNumber)
  /// The object or block that the address lies in.
  case address(ObjectAddress)
  /// All objects of types that the pattern names.
  case type(String)
}

/// Why there are no holders to tell of.
public enum HeapQuestionError: Error, Sendable, Hashable, CustomStringConvertible {
  /// No object of the picture has that number.
  case unknownSerial(SerialNumber)
  /// No block of the picture has that address in it.
  case unknownAddress(ObjectAddress)
  /// No object of the picture is of such a type; the nearest names.
  case unknownType(String, nearest: [String])

  /// One line.
  public var description: String {
    switch self {
    case .unknownSerial(let serial): "object @\(serial) is not in the picture of the heap: it did not live then"
    case .unknownAddress(let address): "nothing lies at \(address) in the picture of the heap"
    case .unknownType(let pattern, let nearest):
      "nothing of a type that matches '\(pattern)' is in the picture of the heap"
        + (nearest.isEmpty ? "" : "; nearest: " + nearest.joined(separator: ", "))
    }
  }
}

/// References of one kind to the objects that were asked for.
public struct HeapHolder: Sendable, Hashable {
  /// Who refers, and by which property; one of them, where there are several.
  public var step: HeapStep
  /// How many such references there are.
  public var count: Int
  /// Whether they keep the objects alive.
  public var holds: Bool
}

/// The answer.
public struct HeapHolders: Sendable {
  /// The objects: those of the smallest numbers, at most 8.
  public var objects: [HeapStep]
  /// How many.
  public var count: Int
  /// Their bytes.
  public var bytes: UInt64
  /// Bytes that would go with them.
  public var retainedBytes: UInt64
  /// The same by type, the objects themselves with it, largest first.
  public var retained: [HeapRow]
  /// How many no root reaches.
  public var unreachable: Int
  /// How many only a word of a stack or a register reaches.
  public var maybeOnly: Int
  /// Direct holders, those that keep them alive first, then the most frequent first.
  public var direct: [HeapHolder]
  /// Roots that refer to them directly.
  public var roots: [HeapRootStep]
  /// Ways from a root, the shortest first; with `allPaths` all that differ in types and properties.
  public var paths: [HeapPath]
  /// There may be more paths than those.
  public var pathsCut: Bool
  /// Ways by which objects that no root reaches are held: from the head of their leak.
  public var leakPath: HeapPath?
}

extension Heap {
  /// Who holds the objects.
  public func holders(
    of selector: HeapSelector, allPaths: Bool = false, limit: Int = 20
  ) throws(HeapQuestionError) -> HeapHolders {
    let nodes = try select(selector)
    var answer = HeapHolders(
      objects: nodes.prefix(8).map { step($0) }, count: nodes.count, bytes: 0, retainedBytes: 0, retained: [],
      unreachable: 0, maybeOnly: 0, direct: [], roots: [], paths: [], pathsCut: false, leakPath: nil)
    var isAsked = [Bool](repeating: false, count: graph.nodes.count)
    for node in nodes {
      isAsked[node] = true
      answer.bytes &+= graph.nodes.sizes[node]
      if reach.grades[node] == Reach.none { answer.unreachable += 1 }
      if reach.grades[node] == Reach.maybe { answer.maybeOnly += 1 }
    }
    answer.retained = retained(nodes, isAsked)
    answer.retainedBytes = answer.retained.reduce(0) { $0 &+ $1.bytes }
    answer.direct = direct(nodes)
    answer.roots = reach.roots.filter { isAsked[Int($0.target)] }.map(rootStep)
    if allPaths {
      (answer.paths, answer.pathsCut) = PathSearch(self).paths(to: nodes, limit: limit)
      // They come by length; firm roots go before what may be left-overs.
      answer.paths = answer.paths.enumerated().sorted { left, right in
        let ranks = [left, right].map { ($0.element.root?.isFirm == false ? 1 : 0, $0.offset) }
        return ranks[0] < ranks[1]
      }.map(\.element)
    } else if let nearest = reach.order.first(where: { isAsked[Int($0)] }), let path = shortestPath(to: Int(nearest)) {
      answer.paths = [path]
    }
    if answer.paths.isEmpty, let first = nodes.first { answer.leakPath = leakPath(to: first) }
    return answer
  }

  private func select(_ selector: HeapSelector) throws(HeapQuestionError) -> [Int] {
    switch selector {
    case .serial(let serial):
      guard let node = graph.nodes.serials.firstIndex(of: serial.rawValue), serial.rawValue != 0 else {
        throw .unknownSerial(serial)
      }
      return [node]
    case .address(let address):
      guard let node = graph.node(at: address.rawValue) else { throw .unknownAddress(address) }
      return [node]
    case .type(let pattern):
      let filter = TypeFilter(include: [pattern])
      let keeps = types.map { filter.keeps($0) }
      let nodes = (0..<graph.nodes.count).filter { keeps[Int(rows[$0])] && !isFree($0) }
      guard !nodes.isEmpty else {
        let names = Set(rows).map { types[Int($0)].name }.filter { !$0.isEmpty }
        throw .unknownType(pattern, nearest: Nearest.names(to: pattern, among: names))
      }
      let serials = graph.nodes.serials
      return nodes.sorted { (serials[$0], $0) < (serials[$1], $1) }
    }
  }

  /// What they dominate, each object once, whichever of them it hangs below; of what no root reaches the objects alone.
  private func retained(_ nodes: [Int], _ isAsked: [Bool]) -> [HeapRow] {
    let dominators = dominators
    var isInside = [Bool](repeating: false, count: graph.nodes.count)
    var tally: [UInt32: HeapRow] = [:]
    func add(_ node: Int) {
      tally[rows[node], default: HeapRow(type: type(node), count: 0, bytes: 0)].count += 1
      tally[rows[node]]?.bytes &+= graph.nodes.sizes[node]
    }
    for node in dominators.order.map({ Int($0) }) {
      let above = dominators.dominator[node]
      isInside[node] = isAsked[node] || (above != Dominators.roots && isInside[Int(above)])
      if isInside[node] { add(node) }
    }
    for node in nodes where reach.grades[node] == Reach.none { add(node) }
    return tally.values.sorted { (right, left) in
      (left.bytes, key(right.type)) < (right.bytes, key(left.type))
    }
  }

  private func direct(_ nodes: [Int]) -> [HeapHolder] {
    struct Key: Hashable {
      var row: UInt32
      var label: String
      var offset: UInt32
      var strength: UInt8
    }
    var groups: [Key: HeapHolder] = [:]
    var plains: [UInt32: String] = [:]
    for node in nodes {
      for place in holding.edges(into: node) {
        let edge = Int(place)
        let source = Int(holding.sources[edge])
        let label = graph.edges.labels[edge]
        // Which element it is tells elements apart, not holders.
        let plain = plains[label] ?? LeakSearch.plain(graph.name(label))
        plains[label] = plain
        let key = Key(
          row: rows[source], label: plain, offset: label == 0 ? graph.edges.offsets[edge] : 0,
          strength: graph.edges.strengths[edge])
        if groups[key] == nil {
          groups[key] = HeapHolder(step: step(source, by: edge), count: 0, holds: holding.holds[edge])
        }
        groups[key]?.count += 1
        if groups[key]?.count == 2 { groups[key]?.step.label = plain }
      }
    }
    return groups.values.sorted { left, right in
      if left.holds != right.holds { return left.holds }
      return (right.count, key(left.step.type), left.step.label, left.step.offset)
        < (left.count, key(right.step.type), right.step.label, right.step.offset)
    }
  }

  /// From the head of a leak down to an object in it: backwards breadth-first to a node that nothing lost holds from above, or
  /// to the last new one of a cycle.
  private func leakPath(to node: Int) -> HeapPath? {
    var next: [Int: Int] = [node: -1]
    var queue = [node]
    var at = 0
    while at < queue.count {
      let here = queue[at]
      at += 1
      for place in holding.edges(into: here) where holding.holds[Int(place)] {
        let source = Int(holding.sources[Int(place)])
        guard next[source] == nil else { continue }
        next[source] = Int(place)
        queue.append(source)
      }
    }
    guard let head = queue.last, head != node else { return nil }
    var steps: [HeapStep] = []
    var here = head
    while let edge = next[here], edge >= 0 {
      steps.append(step(here, by: edge))
      here = holding.target(edge)
    }
    return HeapPath(root: nil, steps: steps + [step(here)])
  }
}

/// All ways from roots to some nodes that differ in types and properties, the shortest first.
private struct PathSearch {
  private let heap: Heap
  /// Partial ways that are looked at: a heap may have more ways than atoms.
  private static let effort = 200_000

  init(_ heap: Heap) { self.heap = heap }

  /// A way backwards: a node, and the partial way that it leads on to.
  private struct Part {
    var node: UInt32
    var edge: UInt32
    var rest: Int
    var length: Int
  }

  func paths(to nodes: [Int], limit: Int) -> (paths: [HeapPath], cut: Bool) {
    let holding = heap.holding
    var rootsOf: [UInt32: [Int]] = [:]
    for (place, root) in heap.reach.roots.enumerated() { rootsOf[root.target, default: []].append(place) }
    var parts = nodes.prefix(PathSearch.effort / 2).map { Part(node: UInt32($0), edge: .max, rest: -1, length: 1) }
    var found: [HeapPath] = []
    var shapes: Set<[String]> = []
    var next = 0
    while next < parts.count {
      if found.count >= limit || next >= PathSearch.effort { return (found, true) }
      let part = parts[next]
      for place in rootsOf[part.node] ?? [] {
        let path = path(next, parts, heap.reach.roots[place])
        if found.count < limit, shapes.insert(shape(path)).inserted { found.append(path) }
      }
      for edge in holding.edges(into: Int(part.node)) where holding.holds[Int(edge)] {
        let source = holding.sources[Int(edge)]
        guard heap.reach.grades[Int(source)] != Reach.none, !contains(source, next, parts) else { continue }
        if parts.count < PathSearch.effort {
          parts.append(Part(node: source, edge: edge, rest: next, length: part.length + 1))
        }
      }
      next += 1
    }
    return (found, parts.count >= PathSearch.effort)
  }

  private func contains(_ node: UInt32, _ place: Int, _ parts: [Part]) -> Bool {
    var at = place
    while at >= 0 {
      if parts[at].node == node { return true }
      at = parts[at].rest
    }
    return false
  }

  private func path(_ place: Int, _ parts: [Part], _ root: HeapGraph.Root) -> HeapPath {
    var steps: [HeapStep] = []
    var at = place
    while at >= 0 {
      let edge = parts[at].edge
      steps.append(heap.step(Int(parts[at].node), by: edge == .max ? nil : Int(edge)))
      at = parts[at].rest
    }
    return HeapPath(root: heap.rootStep(root), steps: steps)
  }

  private func shape(_ path: HeapPath) -> [String] {
    let root = path.root.map { "\($0.kind) \($0.label)" } ?? ""
    return [root] + path.steps.map { heap.key($0.type) + "." + LeakSearch.plain($0.label) }
  }
}
