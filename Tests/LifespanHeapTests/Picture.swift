// A small language for pictures of the heap: objects by name, references by "property", roots. Births come from a trace that is
// made along with it.
import LifespanAnalysis
import LifespanTrace

@testable import LifespanHeap

/// A heap under construction.
struct Picture {
  var trace = TraceBuilder()
  var graph = HeapGraphBuilder(HeapGraph.Head(number: 1, time: TraceTime(1_000_000_000), objectsChecked: 1))
  private var types: [String: TypeID] = [:]
  private var next: UInt64 = 0x10000

  /// An object of a class (or another kind), born now.
  mutating func object(
    _ type: String, kind: ObjectKind = .classInstance, size: UInt64 = 32, stack: StackID = .none,
    flags: HeapNodeFlags = []
  ) -> UInt32 {
    let id = types[type] ?? trace.type(type, kind: kind, size: size)
    types[type] = id
    defer { next += (size + 15) / 16 * 16 }
    let serial = trace.birth(id, size: Int64(size), stack: stack, address: next)
    return graph.addNode(address: next, size: size, serial: serial.rawValue, type: id, flags: flags)
  }

  /// A block that the recorder does not know.
  mutating func block(_ size: UInt64 = 64, name: String = "", flags: HeapNodeFlags = []) -> UInt32 {
    defer { next += (size + 15) / 16 * 16 }
    let id = graph.name(name)
    return graph.addNode(address: next, size: size, name: id, flags: flags)
  }

  mutating func edge(
    _ source: UInt32, _ label: String, _ target: UInt32, _ strength: HeapStrength = .strong, offset: UInt32 = 16
  ) {
    let id = graph.name(label)
    graph.addEdge(from: source, to: target, offset: offset, label: id, strength: strength)
  }

  mutating func root(_ target: UInt32, _ label: String = "", kind: HeapRootKind = .global, isFirm: Bool = true) {
    let id = graph.name(label)
    graph.addRoot(to: target, kind: kind, isFirm: isFirm, label: id)
  }

  func heap() throws -> Heap { try Heap(graph.finish(), Analysis(trace.trace())) }

  /// The leaks as lines: `2 root App.A +1` and the rows `App.A 2`.
  func leaks(_ naming: HeapNaming = HeapNaming()) throws -> [String] {
    try heap().leaks(naming).groups.map { group in
      let cycle = group.cycle.map { "\($0.type.name).\($0.label)" }.joined(separator: " ")
      let rows = group.rows.map { "\($0.type.name) \($0.count)" }.joined(separator: ", ")
      return "\(group.instances) \(group.kind.rawValue) [\(cycle)] \(rows)"
    }
  }
}
