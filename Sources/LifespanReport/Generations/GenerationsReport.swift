// The report of `lifespan generations`: growth and # persistent a generation, or one generation's types, or their
// objects and stacks. Text, CSV and Markdown; JSON stands beside it.
import LifespanAnalysis
import LifespanTrace

/// Generations, ready to be written.
public struct GenerationsReport {
  let generations: Generations
  let subject: ReportSubject
  var information: TraceInformation { subject.information }
  let names: ReportNames
  /// A filter left only some types: the sums are of these.
  let isFiltered: Bool
  /// The one that is drilled into; nil: all.
  let chosen: Generations.Growth?
  /// Its objects, where a type was asked for too.
  let objects: ObjectList?

  /// A report of an answer; with `chosen` only of that generation, with `objects` down to these.
  public init(
    _ generations: Generations, chosen: Generations.Growth? = nil, objects: ObjectList? = nil,
    subject: ReportSubject, names: ReportNames,
    isFiltered: Bool = false
  ) {
    self.generations = generations
    self.chosen = chosen
    self.objects = objects
    self.subject = subject
    self.names = names
    self.isFiltered = isFiltered
  }

  static let listColumns = [
    GridColumn(key: "timestamp_ns", title: "Mark set", sortsDown: false),
    GridColumn(key: "growth_bytes", title: "Growth"),
    GridColumn(key: "persistent_count", title: "# Persistent"),
    GridColumn(key: "transient_count", title: "# Transient"),
    GridColumn(key: "transient_bytes", title: "Transient"),
    GridColumn(key: "name", title: "Generation", isNumber: false, canShrink: true),
  ]

  static let rowColumns = [
    GridColumn(key: "persistent_count", title: "# Persistent"),
    GridColumn(key: "persistent_bytes", title: "Growth"),
    GridColumn(key: "transient_count", title: "# Transient"),
    GridColumn(key: "transient_bytes", title: "Transient"),
    GridColumn(key: "kind", title: "Kind", isNumber: false),
    GridColumn(key: "module", title: "Module", isNumber: false, canShrink: true),
    GridColumn(key: "type", title: "Type", isNumber: false, canShrink: true),
  ]

  /// Destroyed objects have columns where the filter lets them through.
  private var usualColumns: [String] {
    let transient = generations.lifespan == .living ? [] : ["transient_count", "transient_bytes"]
    return chosen == nil
      ? ["timestamp_ns", "growth_bytes", "persistent_count"] + transient + ["name"]
      : ["persistent_count", "persistent_bytes"] + transient + ["kind", "type"]
  }

  /// Keys that `--columns` and `--sort` take: of the list, or of one generation's types.
  public static func columnKeys(ofOneGeneration: Bool) -> [String] {
    (ofOneGeneration ? rowColumns : listColumns).map(\.key)
  }

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    let all = chosen.map(grid) ?? listGrid()
    let places = options.cut(all.order(by: options.sort))
    if options.format == .json { return json(places) }
    var shown = all
    shown.rows = places.map { all.rows[$0] }
    shown = shown.selecting(options.columns ?? (options.format == .csv ? nil : usualColumns))
    if let text = options.plainText(shown, subject) { return text }
    return options.style.text(text(shown, of: all.rows.count, options))
  }

  private func text(_ shown: Grid, of total: Int, _ options: ReportOptions) -> [String] {
    var lines = Preface.lines(subject, style: options.style)
    lines.insert(looked, at: lines.count - 1)
    lines += shown.tableLines(style: options.style)
    if let chosen {
      if chosen.rows.isEmpty { lines.append(nothing) }
      lines += options.rest(of: total, shown: shown.rows.count, "type")
      lines += Footnotes.kept(chosen.keptCount, chosen.keptBytes)
      if let objects, objects.count > 0 {
        lines.append("")
        lines += StackGroupsText.lines(objects, names, options)
      } else if !chosen.rows.isEmpty {
        lines += ["", "--type TYPE shows the objects and the stacks that made them."]
      }
    } else {
      lines += options.rest(of: total, shown: shown.rows.count, "generation")
      let all = generations.closed + [generations.open]
      lines += Footnotes.kept(all.reduce(0) { $0 &+ $1.keptCount }, all.reduce(.zero) { $0 + $1.keptBytes })
      if generations.closed.isEmpty {
        lines += ["", "no mark was set: everything is in the open generation (lifespan mark, --mark-at TIME)"]
      }
    }
    return lines + Preface.closing(names, style: options.style)
  }

  private var nothing: String {
    switch generations.lifespan {
    case .living: return "nothing of this generation is left"
    case .destroyed: return "nothing of this generation is gone"
    case .all: return isFiltered ? "no type passes the filters" : "nothing was made in this generation"
    }
  }

  private var looked: String {
    guard let chosen else {
      return generations.atMark
        ? "what each generation held when its mark was set"
        : "what each generation still holds at the end of the recording"
    }
    let isAtMark = generations.atMark && !isOpen(chosen)
    let what: String
    switch generations.lifespan {
    case .living: what = isAtMark ? "held when its mark was set" : "still holds at the end of the recording"
    case .destroyed: what = "made and lost before " + (isAtMark ? "its mark" : "the end of the recording")
    case .all: what = "made, and what is left " + (isAtMark ? "when its mark was set" : "at the end of the recording")
    }
    if isOpen(chosen) { return "the open generation, after the last mark: what it \(what)" }
    return "generation \(chosen.name.printable), closed at \(Units.seconds(chosen.time.rawValue)): what it \(what)"
  }

  func isOpen(_ growth: Generations.Growth) -> Bool { growth.generation == generations.open.generation }

  private func listGrid() -> Grid {
    var grid = Grid(columns: Self.listColumns)
    grid.rows = (generations.closed + [generations.open]).map { growth in
      [
        isOpen(growth) ? .moment(nil) : .moment(growth.time.rawValue), .bytes(growth.growthBytes.rawValue),
        .count(growth.persistentCount), .count(growth.transientCount), .bytes(growth.transientBytes.rawValue),
        .word(isOpen(growth) ? "(open)" : growth.name),
      ]
    }
    return grid
  }

  private func grid(_ growth: Generations.Growth) -> Grid {
    var grid = Grid(columns: Self.rowColumns)
    let all = Tally(
      persistentCount: growth.persistentCount, persistentBytes: growth.growthBytes,
      transientCount: growth.transientCount, transientBytes: growth.transientBytes, keptCount: growth.keptCount,
      keptBytes: growth.keptBytes)
    grid.summary = [cells(all, "", "", SummaryWord.all(isFiltered: isFiltered, information))]
    for (kind, tally) in growth.apart.sorted(by: { $0.key > $1.key }) {
      grid.summary.append(cells(tally, "", "", SummaryWord.of(kind)))
    }
    grid.rows = growth.rows.map { row in
      cells(row.tally, row.type.kind.description, names.module(of: row.type), names.name(of: row.type))
    }
    return grid
  }

  private func cells(_ tally: Tally, _ kind: String, _ module: String, _ type: String) -> [Cell] {
    [
      .count(tally.persistentCount), .bytes(tally.persistentBytes.rawValue), .count(tally.transientCount),
      .bytes(tally.transientBytes.rawValue), .word(kind), .word(module), .word(type),
    ]
  }
}
