// A way from a root to an object, step by step, as values for a report.
import LifespanAnalysis
import LifespanTrace

/// An object or a block on a path, and the reference that leads on from it.
public struct HeapStep: Sendable, Hashable {
  /// What it is.
  public var type: TypeIdentity
  /// What its memory told of it, beyond its type; empty: nothing.
  public var note: String
  /// Its number; nil where the recorder does not know it.
  public var serial: SerialNumber?
  /// Where it was made.
  public var stack: StackID
  /// Where it lies.
  public var address: ObjectAddress
  /// The property by which it refers to the next one; empty where that is not known, and of the last one.
  public var label: String
  /// Bytes into it where that reference stands.
  public var offset: UInt32
  /// How it refers.
  public var strength: HeapStrength
}

/// Where a path begins.
public struct HeapRootStep: Sendable, Hashable {
  /// Where the root stands.
  public var kind: HeapRootKind
  /// Whether it may be a left-over.
  public var isFirm: Bool
  /// Its name; empty: none.
  public var label: String
  /// Bytes into what the name says.
  public var offset: UInt64
  /// The thread of a stack, a register, a thread-local.
  public var thread: ThreadID
}

/// A way from a root.
public struct HeapPath: Sendable, Hashable {
  /// Where it begins; nil of a path that no root is at the end of.
  public var root: HeapRootStep?
  /// From the root to the object itself.
  public var steps: [HeapStep]
}

extension Heap {
  func step(_ node: Int, by edge: Int? = nil) -> HeapStep {
    let serial = graph.nodes.serials[node]
    let type = type(node)
    let note = graph.name(graph.nodes.names[node])
    return HeapStep(
      type: type, note: note == type.name ? "" : note, serial: serial == 0 ? nil : SerialNumber(serial),
      stack: StackID(stacks[node]), address: ObjectAddress(graph.nodes.addresses[node]),
      label: edge.map { graph.name(graph.edges.labels[$0]) } ?? "", offset: edge.map { graph.edges.offsets[$0] } ?? 0,
      strength: edge.map { graph.strength($0) } ?? .strong)
  }

  func rootStep(_ root: HeapGraph.Root) -> HeapRootStep {
    HeapRootStep(
      kind: root.kind, isFirm: root.isFirm, label: graph.name(root.label), offset: root.offset, thread: root.thread)
  }

  /// The shortest way from a root, firm ones first; nil where none reaches the node.
  func shortestPath(to node: Int) -> HeapPath? {
    guard reach.grades[node] != Reach.none else { return nil }
    var steps = [step(node)]
    var at = node
    while reach.edges[at] != Reach.nothing {
      let edge = Int(reach.edges[at])
      at = Int(holding.sources[edge])
      steps.append(step(at, by: edge))
    }
    let place = reach.rootPlaces[at]
    return HeapPath(root: place == Reach.nothing ? nil : rootStep(reach.roots[Int(place)]), steps: steps.reversed())
  }
}
