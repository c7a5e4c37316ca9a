// The report of `lifespan holders`: who refers to an object, the way from a root, what it retains. Text and JSON.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// Holders of some objects of one picture, ready to be written.
public struct HoldersReport {
  let heap: Heap
  let holders: HeapHolders
  let subject: ReportSubject
  let names: ReportNames
  /// Every way was asked for.
  let allPaths: Bool
  /// What is retained was asked for type by type.
  let retainedByType: Bool
  /// The same in all pictures of the trace, oldest first; empty: there is one alone, or it was not asked for.
  let growth: [RetainedAt]

  /// A report of an answer.
  public init(
    _ heap: Heap, _ holders: HeapHolders, subject: ReportSubject, names: ReportNames, allPaths: Bool,
    retainedByType: Bool = false, growth: [RetainedAt] = []
  ) {
    self.heap = heap
    self.holders = holders
    self.subject = subject
    self.names = names
    self.allPaths = allPaths
    self.retainedByType = retainedByType
    self.growth = growth
  }

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    options.format == .json ? json() + "\n" : options.style.text(lines(options))
  }

  private func lines(_ options: ReportOptions) -> [String] {
    let style = options.style
    var lines = Preface.lines(subject, style: style)
    lines.insert(contentsOf: HeapText.picture(heap, subject, width: style.width), at: lines.count - 1)
    for note in heap.graph.head.notes { lines += style.warning("note: \(note)") }
    lines.append(style.heading(ShortNames.shortened(title, to: style.width)))
    lines.append("retains \(Units.bytes(Int64(clamping: holders.retainedBytes))): what would go with it")
    if retainedByType {
      let limit = options.limit ?? 20
      for row in holders.retained.prefix(limit) {
        let text = "\(Units.count(row.count)) × \(names.name(of: row.type)), \(Units.bytes(Int64(clamping: row.bytes)))"
        lines.append("  " + ShortNames.shortened(text, to: style.width - 2))
      }
      lines += options.more(holders.retained.count, limit, "type", indent: 2)
      lines += growthLines(style)
    }
    if holders.unreachable > 0 { lines.append("\(Units.count(holders.unreachable)) of them no root reaches: leaked") }
    if holders.maybeOnly > 0 {
      lines += style.warning(
        "\(Units.count(holders.maybeOnly)) of them only a word of a stack or a register reaches, which may be a left-over"
      )
    }
    lines += ["", style.heading("held directly by")]
    let limit = options.limit ?? 20
    for holder in holders.direct.prefix(limit) {
      let times = holder.count == 1 ? "" : "\(Units.count(holder.count)) × "
      let who = holder.count == 1 ? HeapText.object(holder.step, names) : names.name(of: holder.step.type)
      let text = times + who + " " + HeapText.property(holder.step, names)
      lines.append("  " + ShortNames.shortened(text, to: style.width - 2))
    }
    lines += options.more(holders.direct.count, limit, "holder", indent: 2)
    // Many words of one frame say the same.
    let roots = holders.roots.map { HeapText.root($0) }
    let counts = roots.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    var left = counts
    let different = roots.filter { left.removeValue(forKey: $0) != nil }
    for root in different.prefix(limit) {
      let times = counts[root, default: 1] == 1 ? "" : "\(Units.count(counts[root, default: 1])) × "
      lines.append("  " + ShortNames.shortened(times + root, to: style.width - 2))
    }
    lines += options.more(different.count, limit, "root", indent: 2)
    if holders.direct.isEmpty && holders.roots.isEmpty { lines.append("  nothing") }
    return lines + pathLines(style) + Preface.closing(names, style: style)
  }

  /// Picture by picture, with what has come since the one before.
  private func growthLines(_ style: TextStyle) -> [String] {
    guard growth.count > 1 else { return [] }
    var lines = ["", style.heading("retained in each picture of this trace")]
    var before: UInt64?
    for row in growth {
      let bytes = Int64(clamping: row.retainedBytes)
      var text =
        "picture \(row.head.number) \(HeapText.point(row.head, subject)), \(Units.seconds(row.head.time.rawValue)): "
        + "\(Units.things(row.count, "object")) retaining \(Units.bytes(bytes))"
      if let before {
        let change = bytes - Int64(clamping: before)
        text += change == 0 ? ", as before" : ", \(change < 0 ? "−" : "+")\(Units.bytes(abs(change)))"
      }
      before = row.retainedBytes
      lines.append("  " + ShortNames.shortened(text, to: style.width - 2))
    }
    return lines
  }

  private var title: String {
    guard let first = holders.objects.first else { return "nothing" }
    if holders.count == 1 { return "\(HeapText.object(first, names)), \(Units.bytes(Int64(clamping: holders.bytes)))" }
    let types = Set(holders.objects.map { names.name(of: $0.type) })
    let what = types.count == 1 ? names.name(of: first.type) : "objects"
    return "\(Units.count(holders.count)) × \(what), \(Units.bytes(Int64(clamping: holders.bytes)))"
  }

  private func pathLines(_ style: TextStyle) -> [String] {
    var lines: [String] = []
    for (index, path) in holders.paths.enumerated() {
      let word = allPaths ? "path \(index + 1) from a root" : "shortest path from a root"
      lines += ["", style.heading(word)] + HeapText.lines(path, names, indent: 2, width: style.width)
    }
    if holders.pathsCut { lines += ["", "… there may be more paths (--limit)"] }
    if let path = holders.leakPath {
      lines += ["", style.heading("no root leads there; within the leak")]
      lines += HeapText.lines(path, names, indent: 2, width: style.width)
    }
    return lines
  }

  private func json() -> String {
    JSONValue.object(
      Preface.jsonHead(subject) + Preface.jsonEvents(subject)
        + JSONValue.pairs([
          "count": .integer(Int64(holders.count)), "bytes": .unsigned(holders.bytes),
          "retained_bytes": .unsigned(holders.retainedBytes),
          "retained": .array(
            holders.retained.map { row in
              .object(
                TypeJSON.members(row.type, names)
                  + JSONValue.pairs(["count": .integer(Int64(row.count)), "bytes": .unsigned(row.bytes)]).members)
            }),
          "retained_growth": .array(growth.map(value)),
          "unreachable_count": .integer(Int64(holders.unreachable)),
          "maybe_count": .integer(Int64(holders.maybeOnly)), "objects": .array(holders.objects.map(value)),
          "holders": .array(
            holders.direct.map { holder in
              .object(
                value(holder.step).members
                  + JSONValue.pairs(["count": .integer(Int64(holder.count)), "holds": .bool(holder.holds)]).members)
            }),
          "roots": .array(holders.roots.map(value)), "paths": .array(holders.paths.map(value)),
          "paths_cut": .bool(holders.pathsCut), "leak_path": holders.leakPath.map(value) ?? .null,
          "evidence": HeapJSON.evidence(heap, subject),
        ]).members + Preface.jsonClosing(names)
    ).text
  }

  private func value(_ step: HeapStep) -> JSONValue {
    let label = HeapText.label(step, names)
    return .object(
      TypeJSON.members(step.type, names)
        + JSONValue.pairs([
          "note": .optional(HeapText.note(step, names)),
          "serial": .optional(step.serial?.rawValue),
          "address": .string(step.address.description), "label": .optional(label.isEmpty ? nil : label),
          "offset": .unsigned(UInt64(step.offset)), "strength": .string("\(step.strength)"),
        ]).members)
  }

  private func value(_ row: RetainedAt) -> JSONValue {
    .pairs([
      "picture": .unsigned(UInt64(row.head.number)), "point": .string(HeapText.point(row.head, subject)),
      "timestamp_ns": .integer(row.head.time.rawValue), "count": .integer(Int64(row.count)),
      "bytes": .unsigned(row.bytes), "retained_bytes": .unsigned(row.retainedBytes),
    ])
  }

  private func value(_ root: HeapRootStep) -> JSONValue {
    .pairs([
      "root": .string(HeapText.word(root.kind)), "firm": .bool(root.isFirm),
      "label": .optional(root.label.isEmpty ? nil : root.label), "offset": .unsigned(root.offset),
      "thread": .optional(root.thread == .unknown ? nil : UInt64(root.thread.rawValue)),
    ])
  }

  private func value(_ path: HeapPath) -> JSONValue {
    .pairs(["root": path.root.map(value) ?? .null, "steps": .array(path.steps.map(value))])
  }
}
