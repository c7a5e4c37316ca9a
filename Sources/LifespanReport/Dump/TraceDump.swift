// The report of `lifespan dump`: the whole file as text, chunk by chunk in its own order, for debugging the format.
import LifespanTrace

/// A trace's records as text.
public struct TraceDump {
  private let trace: Trace

  /// A dump of this trace.
  public init(_ trace: Trace) { self.trace = trace }

  /// Hands out the text piece by piece, each ending with a newline: a trace may be larger than memory.
  public func write(_ use: (String) -> Void) throws(TraceError) {
    use(DumpLines.header(trace.header).joined(separator: "\n") + "\n")
    var last: UInt64?
    var sites = 0
    try trace.forEachPart { chunk, part in
      var lines: [String] = []
      if last != chunk.offset { lines.append(Self.head(chunk)) }
      last = chunk.offset
      switch part {
      case .rows(let rows): lines += Self.lines(rows, &sites).map { "  " + $0 }
      case .events(let batch): for index in 0..<batch.count { lines.append("  " + DumpLines.line(batch, index)) }
      }
      use(lines.joined(separator: "\n") + "\n")
    }
    let ending = trace.ending.sentence
    use(ending.isEmpty ? "whole, \(trace.ending.offset) bytes\n" : ending + "\n")
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
    }
  }
}
