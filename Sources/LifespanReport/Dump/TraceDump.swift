// The report of `lifespan dump`: the whole file as text, chunk by chunk in its own order, for debugging the format.
import LifespanTrace

/// A trace's records as text.
public struct TraceDump {
  private let trace: Trace

  /// A dump of this trace.
  public init(_ trace: Trace) { self.trace = trace }

  /// Hands out the text piece by piece, each ending with a newline: a trace may be larger than memory.
  public func write(_ use: (String) -> Void) throws(TraceError) {
    let style = TextStyle()
    use(style.text(DumpLines.header(trace.header)))
    var last: UInt64?
    var sites = 0
    try trace.forEachPart { chunk, part in
      var lines: [String] = []
      if last != chunk.offset { lines.append(Self.head(chunk)) }
      last = chunk.offset
      switch part {
      case .rows(let rows): lines += Self.lines(rows, &sites).map { "  " + $0 }
      case .events(let batch): for index in 0..<batch.count { lines.append("  " + DumpLines.line(batch, index)) }
      case .heap(let part): lines += DumpHeap.lines(part).map { "  " + $0 }
      }
      use(style.text(lines))
    }
    let ending = trace.ending.sentence
    use(ending.isEmpty ? "whole, \(trace.ending.offset) bytes\n" : ending + "\n")
  }

  /// The same as one JSON document, also piece by piece: one record a line.
  public func writeJSON(_ use: (String) -> Void) throws(TraceError) {
    use("{\n \"format\":1,\n \"header\":\(DumpJSON.value(trace.header).text(atDepth: .max)),\n \"records\":[")
    var last: UInt64?
    var sites = 0
    try trace.forEachPart { chunk, part in
      var values: [JSONValue] = []
      let isFirst = last == nil
      if last != chunk.offset { values.append(DumpJSON.value(chunk)) }
      last = chunk.offset
      switch part {
      case .rows(let rows): values += Self.values(rows, &sites)
      case .events(let batch): for index in 0..<batch.count { values.append(DumpJSON.value(batch, index)) }
      case .heap(let part): values += DumpHeap.values(part)
      }
      let lines = values.map { "\n  " + $0.text(atDepth: .max) }.joined(separator: ",")
      use(isFirst || lines.isEmpty ? lines : "," + lines)
    }
    let ending = trace.ending
    let end = JSONValue.pairs([
      "byte": .unsigned(UInt64(ending.offset)), "whole": .bool(ending.reason == .whole),
      "problem": .optional(ending.sentence.isEmpty ? nil : ending.sentence),
    ])
    use("\n ],\n \"ending\":\(end.text(atDepth: .max))\n}\n")
  }

  private static func values(_ rows: ChunkRows, _ sites: inout Int) -> [JSONValue] {
    switch rows {
    case .info(let rows): return rows.map(DumpJSON.value)
    case .images(let rows): return rows.map(DumpJSON.value)
    case .stacks(let rows): return rows.map(DumpJSON.value)
    case .types(let rows): return rows.map(DumpJSON.value)
    case .threads(let rows): return rows.map(DumpJSON.value)
    case .sites(let rows):
      defer { sites += rows.count }
      return rows.enumerated().map { DumpJSON.value($0.element, number: sites + $0.offset) }
    case .marks(let rows): return rows.map(DumpJSON.value)
    case .gaps(let rows): return rows.map(DumpJSON.value)
    case .tasks(let rows): return rows.map(DumpJSON.value)
    case .totals(let rows): return rows.map(DumpJSON.value)
    case .recording(let rows): return rows.map(DumpJSON.value)
    case .end(let rows): return rows.map(DumpJSON.value)
    case .samples(let rows): return rows.map(DumpJSON.value)
    case .threadOrigins(let rows): return rows.map(DumpJSON.value)
    }
  }

  private static func head(_ chunk: TraceReader.Chunk) -> String {
    let header = chunk.header
    var text = "byte \(chunk.offset) \(header.kind)"
    if header.version != 1 { text += " version \(header.version)" }
    let stored = header.rawLength == header.storedLength ? "" : ", \(header.storedLength) stored"
    return text + ", \(header.rawLength) bytes\(stored)"
  }

  private static func lines(_ rows: ChunkRows, _ sites: inout Int) -> [String] {
    switch rows {
    case .info(let rows): return rows.map(DumpLines.line)
    case .images(let rows): return rows.map(DumpLines.line)
    case .stacks(let rows): return rows.map(DumpLines.line)
    case .types(let rows): return rows.map(DumpLines.line)
    case .threads(let rows): return rows.map(DumpLines.line)
    case .sites(let rows):
      // Sites are numbered in the order of the file.
      defer { sites += rows.count }
      return rows.enumerated().map { DumpLines.line($0.element, number: sites + $0.offset) }
    case .marks(let rows): return rows.map(DumpLines.line)
    case .gaps(let rows): return rows.map(DumpLines.line)
    case .tasks(let rows): return rows.map(DumpLines.line)
    case .totals(let rows): return rows.map(DumpLines.line)
    case .recording(let rows): return rows.map(DumpLines.line)
    case .end(let rows): return rows.map(DumpLines.line)
    case .samples(let rows): return rows.map(DumpLines.line)
    case .threadOrigins(let rows): return rows.map(DumpLines.line)
    }
  }
}
