// The way to one of several objects that are the same to a reader: of suspects that one stack made. Asked by the report of growth.
import LifespanAnalysis
import LifespanTrace

/// How an object is held in a picture.
public struct HeapHolding: Sendable, Hashable {
  /// The object.
  public var serial: SerialNumber
  /// The shortest way to it from a root; nil where none reaches it.
  public var path: HeapPath?
  /// It is memory that a library keeps for its next use, as libdispatch keeps used work items: nothing holds it, and it is not leaked.
  public var isFree: Bool

  /// Memberwise.
  public init(serial: SerialNumber, path: HeapPath?, isFree: Bool = false) {
    self.serial = serial
    self.path = path
    self.isFree = isFree
  }
}

extension Heap {
  /// Of each list an object that is in the picture, and what holds it; nil where none is. One look at all nodes.
  ///
  /// The first one that a root holds firmly; where there is none the first that nothing holds; else one that a word of a stack leads to,
  /// which may be a left-over, as the newest object's address often is.
  public func holding(oneOf lists: [[SerialNumber]]) -> [HeapHolding?] {
    let wanted = Set(lists.joined().map(\.rawValue))
    var nodes: [UInt64: Int] = [:]
    for (node, serial) in graph.nodes.serials.enumerated() where serial != 0 && wanted.contains(serial) {
      nodes[serial] = node
    }
    func rank(_ node: Int) -> Int {
      if isFree(node) { return 3 }
      switch reach.grades[node] {
      case Reach.firm: return 0
      case Reach.none: return 1
      default: return 2
      }
    }
    return lists.map { list in
      let known = list.compactMap { serial in nodes[serial.rawValue].map { (serial: serial, node: $0) } }
      guard let best = known.enumerated().min(by: { (rank($0.1.node), $0.0) < (rank($1.1.node), $1.0) })?.element else {
        return nil
      }
      let isFree = isFree(best.node)
      return HeapHolding(serial: best.serial, path: isFree ? nil : shortestPath(to: best.node), isFree: isFree)
    }
  }
}
