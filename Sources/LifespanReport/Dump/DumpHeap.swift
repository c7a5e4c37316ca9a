// A picture of the heap in `lifespan dump`: a line, or a JSON object, for each node, edge, root and name.
import LifespanTrace

/// The records of a picture's chunks, as they stand in the file.
enum DumpHeap {
  static func lines(_ part: HeapChunk) -> [String] {
    switch part {
    case .head(let head, let counts):
      let state = head.isComplete ? "complete" : "incomplete"
      let text =
        "picture \(head.number) at \(head.time), \(word(head.point)), paused \(head.pauseNanoseconds) ns, "
        + "\(head.objectsChecked) objects checked, \(state), \(counts.nodes) nodes, \(counts.edges) edges, "
        + "\(counts.roots) roots, \(counts.names) names"
      return [text] + head.notes.map { "note \(DumpLines.quoted($0))" }
    case .nodes(_, let first, let nodes):
      return (0..<nodes.count).map { index in
        var text = "node \(Int(first) + index) at \(hex(nodes.addresses[index])), \(nodes.sizes[index]) bytes"
        if nodes.serials[index] != 0 { text += ", @\(nodes.serials[index])" }
        if nodes.types[index] != HeapGraph.noType { text += ", type \(nodes.types[index])" }
        if nodes.names[index] != 0 { text += ", name \(nodes.names[index])" }
        if nodes.flags[index] != 0 { text += ", flags \(nodes.flags[index])" }
        return text
      }
    case .edges(_, let first, let sources, let edges):
      return sources.indices.map { index in
        var text = "edge \(Int(first) + index), node \(sources[index]) +\(edges.offsets[index]) to "
        text += "\(edges.targets[index])"
        if edges.labels[index] != 0 { text += ", label \(edges.labels[index])" }
        if edges.strengths[index] != 0 { text += ", strength \(edges.strengths[index])" }
        return text
      }
    case .roots(_, let first, let roots):
      return roots.enumerated().map { index, root in
        var text = "root \(Int(first) + index), \(root.kind), \(root.isFirm ? "firm" : "maybe"), to \(root.target)"
        if root.label != 0 { text += ", label \(root.label)" }
        if root.offset != 0 { text += ", +\(root.offset)" }
        if root.thread != .unknown { text += ", thread \(root.thread)" }
        return text
      }
    case .names(_, let first, let names):
      return names.enumerated().map { "name \(Int(first) + $0.offset), \(DumpLines.quoted($0.element))" }
    }
  }

  static func values(_ part: HeapChunk) -> [JSONValue] {
    switch part {
    case .head(let head, let counts): return [value(head, counts)]
    case .nodes(_, let first, let nodes):
      return (0..<nodes.count).map { index in
        DumpJSON.record(
          "heap_node",
          [
            "number": number(Int(first) + index), "address": .string(hex(nodes.addresses[index])),
            "size": .unsigned(nodes.sizes[index]), "serial": .unsigned(nodes.serials[index]),
            "type": nodes.types[index] == HeapGraph.noType ? .null : number(nodes.types[index]),
            "name": number(nodes.names[index]), "flags": number(nodes.flags[index]),
          ])
      }
    case .edges(_, let first, let sources, let edges):
      return sources.indices.map { index in
        DumpJSON.record(
          "heap_edge",
          [
            "number": number(Int(first) + index), "source": number(sources[index]),
            "target": number(edges.targets[index]), "offset": number(edges.offsets[index]),
            "label": number(edges.labels[index]), "strength": number(edges.strengths[index]),
          ])
      }
    case .roots(_, let first, let roots):
      return roots.enumerated().map { index, root in
        DumpJSON.record(
          "heap_root",
          [
            "number": number(Int(first) + index), "target": number(root.target), "kind": number(root.kind.rawValue),
            "firm": .bool(root.isFirm), "label": number(root.label), "offset": .unsigned(root.offset),
            "thread": number(root.thread.rawValue),
          ])
      }
    case .names(_, let first, let names):
      return names.enumerated().map {
        DumpJSON.record("heap_name", ["number": number(Int(first) + $0.offset), "name": .string($0.element)])
      }
    }
  }

  private static func value(_ head: HeapGraph.Head, _ counts: HeapCounts) -> JSONValue {
    DumpJSON.record(
      "heap",
      [
        "number": number(head.number), "time": .integer(head.time.rawValue), "point": .string(word(head.point)),
        "pause_ns": .unsigned(head.pauseNanoseconds), "objects_checked": .unsigned(head.objectsChecked),
        "complete": .bool(head.isComplete), "notes": .array(head.notes.map { .string($0) }),
        "nodes": number(counts.nodes), "edges": number(counts.edges), "roots": number(counts.roots),
        "names": number(counts.names),
      ])
  }

  private static func word(_ point: HeapGraph.Point) -> String {
    switch point {
    case .exit: "at exit"
    case .mark(let generation): "at the mark that closed generation \(generation)"
    case .request: "on request"
    }
  }

  private static func number<N: BinaryInteger>(_ value: N) -> JSONValue { .unsigned(UInt64(value)) }

  private static func hex(_ value: UInt64) -> String { "0x" + String(value, radix: 16) }
}
