// Leaks and paths as a graph for Graphviz. Used by `lifespan export --format dot`.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// A picture's leaks, abandoned types and paths in the dot language.
public struct DotExport {
  private var nodes: [String: String] = [:]
  private var nodeOrder: [String] = []
  private var edges: [String] = []
  private var seen: Set<String> = []
  private let names: ReportNames

  /// The cycles of all leaks, and the path to each abandoned type.
  public init(_ report: LeaksReport) {
    names = report.names
    for group in report.groups {
      if group.cycle.isEmpty, let example = group.examples.first { _ = node(example, color: "firebrick") }
      for (index, step) in group.cycle.enumerated() {
        let next = group.cycle[(index + 1) % group.cycle.count]
        // A ring that was cut is not closed.
        if index + 1 == group.cycle.count, group.cycleLength > group.cycle.count { continue }
        edge(node(step, color: "firebrick"), node(next, color: "firebrick"), step)
      }
    }
    for type in report.abandoned.types where type.isHead && !type.isToolchains {
      if let path = type.path { add(path, color: "darkorange") }
    }
  }

  /// The paths to some objects.
  public init(_ holders: HeapHolders, names: ReportNames) {
    self.names = names
    for path in holders.paths { add(path, color: "steelblue") }
    if let path = holders.leakPath { add(path, color: "firebrick") }
    for object in holders.objects.prefix(1) { _ = node(object, color: "steelblue") }
  }

  private mutating func add(_ path: HeapPath, color: String) {
    var last: String?
    if let root = path.root {
      let text = HeapText.root(root)
      let id = "root \(text)"
      if nodes[id] == nil { nodeOrder.append(id) }
      nodes[id] = "[shape=box, label=\(DotExport.quoted(text))]"
      last = id
    }
    var by: HeapStep?
    for (index, step) in path.steps.enumerated() {
      let isLast = index == path.steps.count - 1
      let id = node(step, color: isLast ? color : nil)
      if let last { edge(last, id, by) }
      last = id
      by = step
    }
  }

  private mutating func node(_ step: HeapStep, color: String?) -> String {
    let id = step.address.description
    if nodes[id] == nil { nodeOrder.append(id) }
    let paint = color.map { ", color=\($0)" } ?? ""
    if color != nil || nodes[id] == nil {
      nodes[id] = "[label=\(DotExport.quoted(HeapText.object(step, names)))\(paint)]"
    }
    return id
  }

  private mutating func edge(_ source: String, _ target: String, _ step: HeapStep?) {
    let label = step.map { " [label=\(DotExport.quoted(HeapText.property($0, names)))]" } ?? ""
    let line = "  \(DotExport.quoted(source)) -> \(DotExport.quoted(target))\(label);"
    if seen.insert(line).inserted { edges.append(line) }
  }

  private static func quoted(_ text: String) -> String {
    "\"" + text.printable.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
  }

  /// The graph, ending with a newline.
  public var text: String {
    let body = nodeOrder.map { "  \(DotExport.quoted($0)) \(nodes[$0] ?? "");" } + edges
    return "digraph lifespan {\n  rankdir=LR;\n  node [fontname=\"monospace\"];\n"
      + body.map { $0 + "\n" }.joined() + "}\n"
  }
}
