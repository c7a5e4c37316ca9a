// The text of `lifespan leaks`: heads first, what is below them, where they were made; then what is abandoned, and who holds it.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

extension LeaksReport {
  func lines(_ options: ReportOptions) -> [String] {
    var lines = Preface.lines(subject, style: options.style)
    lines.insert(contentsOf: HeapText.picture(heap, subject, width: options.style.width), at: lines.count - 1)
    // The first one is why nothing is told, where nothing is.
    let head = heap.graph.head
    for note in head.isComplete ? head.notes[...] : head.notes.dropFirst() {
      lines += options.style.warning("note: \(note)")
    }
    if let withheld = leaks.withheld {
      lines += options.style.warning("no leaks can be told: \(withheld)")
    } else {
      lines.append(options.style.heading(summary(own, "leak")))
    }
    let shown = own.prefix(options.limit ?? own.count)
    for group in shown { lines += [""] + self.lines(group, options) }
    lines += options.rest(of: own.count, shown: shown.count, "kind of leak", "kinds of leaks")
    lines += toolchainLines(options) + suppressedLines()
    lines += [""] + abandonedLines(options)
    return lines + Preface.closing(names, style: options.style)
  }

  private func summary(_ groups: [LeakGroup], _ thing: String) -> String {
    let count = groups.reduce(0) { $0 + $1.instances }
    guard count > 0 else { return "no \(thing)s" }
    let bytes = groups.reduce(0 as UInt64) { $0 &+ $1.totalBytes }
    let objects = groups.reduce(0) { $0 + $1.totalCount }
    return "\(Units.things(count, thing)): \(Units.things(objects, "object or block", "objects and blocks")), "
      + Units.bytes(Int64(clamping: bytes))
  }

  private func lines(_ group: LeakGroup, _ options: ReportOptions) -> [String] {
    let style = options.style
    var lines = [style.heading(ShortNames.shortened(title(group), to: style.width))]
    var facts = "  fingerprint \(group.fingerprint)"
    if baseline != nil { facts += isKnown(group) ? ", known" : ", new" }
    let module = names.module(of: group.head)
    if !module.isEmpty { facts += ", module \(module)" }
    lines.append(facts)
    if let reason = group.reason { lines += TextStyle.wrapped(reason, to: style.width - 2).map { "  " + $0 } }
    if group.belowCount > 0 {
      lines.append(
        "  \(Units.bytes(Int64(clamping: group.headBytes))) and below it "
          + "\(Units.things(group.belowCount, "object or block", "objects and blocks")) of "
          + Units.bytes(Int64(clamping: group.belowBytes)))
    }
    lines += HeapText.cycle(of: group, names, width: style.width)
    let rows = group.rows.dropFirst()
    if !rows.isEmpty {
      lines.append("  with it:")
      for row in rows.prefix(LeaksReport.rowsShown) {
        let text = "\(Units.count(row.count)) × \(names.name(of: row.type)), \(Units.bytes(Int64(clamping: row.bytes)))"
        lines.append("    " + ShortNames.shortened(text, to: style.width - 4))
      }
      lines += options.more(rows.count, LeaksReport.rowsShown, "type", indent: 4)
    }
    let examples = group.examples.map(HeapText.number)
    let more = group.instances > examples.count ? " …" : ""
    lines.append("  " + examples.joined(separator: " ") + more + ", allocated by")
    return lines + StackText.lines(group.stack, names, style: style)
  }

  func title(_ group: LeakGroup) -> String {
    let name = name(group)
    switch group.kind {
    case .cycle:
      let size = group.cycleLength == 1 ? "holding itself" : "cycle of \(Units.count(group.cycleLength))"
      return "\(Units.count(group.instances)) × \(name), \(size)"
    case .root: return "\(Units.count(group.instances)) × \(name), lost"
    case .suspendedTask: return "\(Units.count(group.instances)) × \(name), suspended task that nobody can resume"
    }
  }

  /// With what its memory tells beyond its type: `Foundation.__NSCFType (CFError)`.
  private func name(_ group: LeakGroup) -> String {
    let note = group.examples.first?.note ?? ""
    return note.isEmpty ? names.name(of: group.head) : "\(names.name(of: group.head)) (\(note))"
  }

  private func toolchainLines(_ options: ReportOptions) -> [String] {
    guard !toolchains.isEmpty else { return [] }
    var lines = [
      "", summary(toolchains, "leak") + " of the toolchain's own libraries, which --fail-on does not count:",
    ]
    for group in toolchains.prefix(LeaksReport.rowsShown) {
      let by = names.allocatingFunctions(of: group.stack).first.map { " by " + $0 } ?? ""
      let text = "\(Units.count(group.instances)) × \(name(group))\(by), \(group.fingerprint)"
      lines.append("  " + ShortNames.shortened(text, to: options.style.width - 2))
      if let reason = group.reason {
        lines += TextStyle.wrapped(reason, to: options.style.width - 4).map { "    " + $0 }
      }
    }
    return lines + options.more(toolchains.count, LeaksReport.rowsShown, "kind", indent: 2)
  }

  private func suppressedLines() -> [String] {
    guard !suppressed.isEmpty else { return [] }
    let lines = suppressed.map { row in
      let reason = row.rule.reason.isEmpty ? "no reason given" : row.rule.reason
      return "suppressed by leak:\(row.rule.pattern) (\(reason)): \(Units.things(row.count, "leak")), "
        + Units.bytes(Int64(clamping: row.bytes))
    }
    return [""] + lines
  }

  private func abandonedLines(_ options: ReportOptions) -> [String] {
    let style = options.style
    if let withheld = abandoned.withheld {
      return TextStyle.wrapped("nothing is called abandoned: \(withheld)", to: style.width)
    }
    let heads = abandoned.types.filter { $0.role == .head }
    let count = heads.reduce(0) { $0 + $1.count }
    guard count > 0 else {
      return [style.heading("nothing abandoned in \(Units.count(abandoned.generations)) generations")]
        + otherLines(options)
    }
    var lines = [style.heading("abandoned: \(Units.things(count, "object")), which grow in every generation")]
    for type in heads.prefix(options.limit ?? heads.count) {
      lines += ["", style.heading(ShortNames.shortened(abandonedTitle(type), to: style.width))]
      let growth = type.perGeneration.dropLast().map { Units.count($0) }.joined(separator: " ")
      let open = type.perGeneration.last ?? 0
      lines.append(
        "  living by generation: \(growth)" + (open > 0 ? ", and \(Units.count(open)) since the last mark" : ""))
      if let path = type.path {
        lines.append("  held by")
        lines += HeapText.lines(path, names, indent: 4, width: style.width)
      }
      lines.append("  the newest was allocated by")
      lines += StackText.lines(type.stack, names, style: style)
    }
    return lines + otherLines(options)
  }

  private func abandonedTitle(_ type: AbandonedType) -> String {
    "\(Units.count(type.count)) × \(names.name(of: type.type)), \(Units.bytes(Int64(clamping: type.bytes))), retaining "
      + Units.bytes(Int64(clamping: type.retainedBytes))
  }

  private func otherLines(_ options: ReportOptions) -> [String] {
    otherLines(.below, "below them, held by nothing else:", options)
      + otherLines(.growsAlong, "of the toolchain's own types, growing with them:", options)
  }

  private func otherLines(_ role: AbandonedType.Role, _ title: String, _ options: ReportOptions) -> [String] {
    let others = abandoned.types.filter { $0.role == role }
    guard !others.isEmpty else { return [] }
    var lines = ["", title]
    for type in others.prefix(LeaksReport.rowsShown) {
      let text =
        "\(Units.count(type.count)) × \(names.name(of: type.type)), \(Units.bytes(Int64(clamping: type.bytes)))"
      lines.append("  " + ShortNames.shortened(text, to: options.style.width - 2))
    }
    return lines + options.more(others.count, LeaksReport.rowsShown, "type", indent: 2)
  }
}

extension HeapText {
  /// The cycle of a leak step by step; no lines where it has none.
  static func cycle(of group: LeakGroup, _ names: ReportNames, width: Int) -> [String] {
    guard !group.cycle.isEmpty else { return [] }
    // Rings of a thousand equal objects say the same a thousand times.
    let shown = group.cycle.prefix(12)
    var lines = ["  cycle:"]
    for step in shown {
      let text = HeapText.type(step, names) + " " + HeapText.property(step, names)
      lines.append("    " + ShortNames.shortened(text, to: width - 4))
    }
    let rest = group.cycleLength - shown.count
    if rest > 0 { lines.append("    … \(Units.things(rest, "more object"))") }
    lines.append("    → " + ShortNames.shortened(names.name(of: shown[0].type), to: width - 6))
    return lines
  }
}

extension ReportOptions {
  /// The line below a list that stands in a report's text.
  func more(_ total: Int, _ shown: Int, _ thing: String, indent: Int) -> [String] {
    total > shown
      ? [String(repeating: " ", count: indent) + "… \(Units.things(total - shown, "more " + thing)) (--json)"] : []
  }

  func rest(of total: Int, shown: Int, _ one: String, _ many: String) -> [String] {
    total > shown ? ["", "… \(Units.things(total - shown, "more " + one, "more " + many)) (--limit)"] : []
  }
}
