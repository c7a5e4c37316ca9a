// The report of `lifespan explain`: one type on one screen. Text and JSON.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// What is known of one type, ready to be written.
public struct ExplainReport {
  /// The answers that it is made of.
  public struct Facts {
    /// The type that is explained.
    public var type: TypeIdentity
    /// Its counts.
    public var tally: Tally
    /// Other types that the pattern named.
    public var others: [TypeIdentity]
    /// What it did from mark to mark; nil where nothing of it lived at one.
    public var trend: GrowthTrends.Row?
    /// All rounds.
    public var trends: GrowthTrends
    /// What allocated those that live, most bytes first; where none lives, all.
    public var sites: AllocationSites
    /// Who holds one of them; nil where the trace has no picture of the heap, or none is in it.
    public var holders: HeapHolders?
    /// The picture; nil where the trace has none.
    public var heap: Heap?

    /// Memberwise.
    public init(
      type: TypeIdentity, tally: Tally, others: [TypeIdentity], trend: GrowthTrends.Row?, trends: GrowthTrends,
      sites: AllocationSites, holders: HeapHolders?, heap: Heap?
    ) {
      self.type = type
      self.tally = tally
      self.others = others
      self.trend = trend
      self.trends = trends
      self.sites = sites
      self.holders = holders
      self.heap = heap
    }
  }

  private let facts: Facts
  private let subject: ReportSubject
  private let names: ReportNames
  /// The leak that they are in, where no root reaches them.
  private let leak: LeakGroup?

  /// A report of these.
  public init(_ facts: Facts, subject: ReportSubject, names: ReportNames) {
    self.facts = facts
    self.subject = subject
    self.names = names
    let isLost = facts.holders.map { $0.paths.isEmpty && $0.unreachable > 0 } ?? false
    leak =
      isLost
      ? facts.heap?.leaks(names.heapNaming).groups.first { group in
        group.cycle.contains { $0.type == facts.type } || group.rows.contains { $0.type == facts.type }
      } : nil
  }

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    options.format == .json ? json() + "\n" : options.style.text(lines(options.style))
  }

  // MARK: Text

  private func lines(_ style: TextStyle) -> [String] {
    var lines = Preface.lines(subject, style: style)
    lines.append(style.heading(ShortNames.shortened(names.name(of: facts.type), to: style.width)))
    lines += wrapped(counts, style)
    if !facts.others.isEmpty {
      let more = facts.others.prefix(3).map { names.name(of: $0) }.joined(separator: ", ")
      let rest = facts.others.count > 3 ? " …" : ""
      let count = Units.things(facts.others.count, "other type")
      lines += wrapped("the pattern also names \(count): \(more)\(rest)", style)
    }
    lines += ["", style.heading("growth")] + growth.flatMap { wrapped($0, style) }
    lines += ["", style.heading(allocatedBy)] + stack(style)
    lines += ["", style.heading("held by")] + held(style)
    if let advice { lines += ["", style.heading("likely")] + wrapped(advice, style) }
    return lines + Preface.closing(names, style: style)
  }

  private func wrapped(_ text: String, _ style: TextStyle) -> [String] {
    TextStyle.wrapped(text, to: style.width - 2).map { "  " + $0 }
  }

  private var counts: String {
    let tally = facts.tally
    return "\(Units.count(tally.persistentCount)) living, \(Units.bytes(tally.persistentBytes.rawValue)); "
      + "\(Units.count(tally.transientCount)) destroyed; \(Units.count(tally.totalCount)) in all"
  }

  private var growth: [String] {
    guard let trend = facts.trend else {
      let hasMarks = !facts.trends.rounds.isEmpty
      return [hasMarks ? "none lived at a mark" : "the recording has no marks: lifespan mark sets one"]
    }
    let levels = trend.counts.map { Units.count($0) }
    let shown = levels.count <= 16 ? levels : levels.prefix(8) + ["…"] + levels.suffix(7)
    let line = "living before the first round and at each mark: \(shown.joined(separator: " "))"
    guard let verdict = trend.verdict else {
      return [line, "no verdict: \(facts.trends.withheld ?? "too few rounds")"]
    }
    let reason = trend.leading.map { ": \(GrowthText.reason($0, rounds: facts.trends.rounds.count))" } ?? ""
    return [line, "\(verdict.rawValue)\(reason)"]
  }

  private var site: AllocationSites.Row? {
    facts.sites.rows.max { one, other in
      let left = one.tally.weight(of: facts.sites.lifespan)
      let right = other.tally.weight(of: facts.sites.lifespan)
      return (left.bytes, left.count, other.stack.rawValue) < (right.bytes, right.count, one.stack.rawValue)
    }
  }

  private var allocatedBy: String {
    guard let site else { return "allocated by" }
    let part = site.tally.weight(of: facts.sites.lifespan).count
    let all = facts.sites.rows.reduce(0) { $0 &+ $1.tally.weight(of: facts.sites.lifespan).count }
    let which = facts.sites.lifespan == .living ? "living ones" : "that were made"
    return part == all
      ? "allocated by" : "allocated by (\(Units.count(part)) of the \(Units.count(all)) \(which))"
  }

  private func stack(_ style: TextStyle) -> [String] {
    guard let site else { return ["  no stack of it is in the recording"] }
    return StackText.lines(site.stack, names, style: style, indent: 2)
  }

  private var path: HeapPath? { facts.holders.flatMap { $0.paths.first ?? $0.leakPath } }

  private func held(_ style: TextStyle) -> [String] {
    guard facts.heap != nil else {
      return wrapped("not known without a picture of the heap: lifespan record --leaks takes one at the end", style)
    }
    guard let holders = facts.holders else { return ["  none of them is in the picture of the heap"] }
    var lines: [String] = []
    if holders.unreachable > 0 {
      lines += wrapped("\(Units.count(holders.unreachable)) of them no root reaches: leaked", style)
    }
    if let leak { lines += HeapText.cycle(of: leak, names, width: style.width) }
    // A type of the cycle has no other way to it.
    let isInCycle = leak?.cycle.contains { $0.type == facts.type } ?? false
    if let path, !isInCycle { lines += HeapText.lines(path, names, indent: 2, width: style.width) }
    return lines.isEmpty ? ["  what holds them is not known"] : lines
  }

  private var advice: String? {
    guard let holders = facts.holders else { return nil }
    if holders.paths.isEmpty, holders.unreachable > 0 {
      return KnownPatterns.advice(
        cycle: (leak?.cycle ?? []).map { ($0.type.kind, HeapText.property($0, names)) })
    }
    guard let path else { return nil }
    let lines = HeapText.lines(path, names, indent: 0, width: 10_000)
    return KnownPatterns.advice(path: lines, grows: facts.trend?.verdict == .linear)
  }

  // MARK: JSON

  private func json() -> String {
    let trend = facts.trend
    let lines = path.map { HeapText.lines($0, names, indent: 0, width: 10_000) }
    return JSONValue.object(
      Preface.jsonHead(subject) + Preface.jsonEvents(subject) + TypeJSON.members(facts.type, names)
        + TallyJSON.members(facts.tally)
        + JSONValue.pairs([
          "other_types": .array(facts.others.map { .string(names.name(of: $0)) }),
          "verdict": .optional(trend?.verdict?.rawValue),
          "counts": .array((trend?.counts ?? []).map { .integer(Int64($0)) }),
          "verdict_withheld": .optional(facts.trends.withheld),
          "allocated_by": site.map { FrameJSON.stack($0.stack, names) } ?? .array([]),
          "has_picture": .bool(facts.heap != nil),
          "unreachable_count": .optional(facts.holders.map { Int($0.unreachable) }),
          "path": .array((lines ?? []).map { .string($0) }), "likely": .optional(advice),
        ]).members + Preface.jsonClosing(names)
    ).text
  }
}
