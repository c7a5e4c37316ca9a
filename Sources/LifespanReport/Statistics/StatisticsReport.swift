// The report of `lifespan stats` and `record --stats`: one row a type. Text, CSV and Markdown; JSON stands beside it.
import LifespanAnalysis
import LifespanTrace

/// Statistics by type, ready to be written.
public struct StatisticsReport {
  let statistics: Statistics
  let subject: ReportSubject
  var information: TraceInformation { subject.information }
  let names: ReportNames
  /// A filter left only some types: the sums are of these.
  let isFiltered: Bool
  let resident: ResidentMemory?
  /// The rows, where they are not types.
  let groups: StatisticsGroups?

  /// A report of an answer; `isFiltered` where it was asked for some types only. `resident`: what was sampled. `groups`: the
  /// same objects, summed up otherwise than by type.
  public init(
    _ statistics: Statistics, subject: ReportSubject, names: ReportNames, isFiltered: Bool = false,
    resident: ResidentMemory? = nil, groups: StatisticsGroups? = nil
  ) {
    self.groups = groups
    self.resident = resident
    self.statistics = statistics
    self.subject = subject
    self.names = names
    self.isFiltered = isFiltered
  }

  private static let countColumns = [
    GridColumn(key: "persistent_count", title: "# Persistent"),
    GridColumn(key: "persistent_bytes", title: "Persistent"),
    GridColumn(key: "transient_count", title: "# Transient"),
    GridColumn(key: "transient_bytes", title: "Transient"),
    GridColumn(key: "temporary_count", title: "# Temporary"),
    GridColumn(key: "kept_count", title: "# Kept"),
    GridColumn(key: "kept_bytes", title: "Kept"),
    GridColumn(key: "total_count", title: "# Total"),
    GridColumn(key: "total_bytes", title: "Total bytes"),
    GridColumn(key: "lifetime_min_ns", title: "Min life"),
    GridColumn(key: "lifetime_median_ns", title: "Median life ±1.6 %"),
    GridColumn(key: "lifetime_max_ns", title: "Max life"),
  ]
  private static let typeColumns = [
    GridColumn(key: "retains", title: "Retains"),
    GridColumn(key: "releases", title: "Releases"),
    GridColumn(key: "net", title: "Net"),
    GridColumn(key: "references", title: "References"),
    GridColumn(key: "kind", title: "Kind", isNumber: false),
    GridColumn(key: "module", title: "Module", isNumber: false, canShrink: true),
    GridColumn(key: "type", title: "Type", isNumber: false, canShrink: true),
  ]

  /// Those of them that are of retains and releases.
  public static let referenceKeys = ["retains", "releases", "net", "references"]

  /// Keys that `--columns` and `--sort` take.
  public static let columnKeys = (countColumns + typeColumns).map(\.key)

  /// The same of a report by something else than types.
  public static let groupColumnKeys = countColumns.map(\.key) + ["group"]

  /// Those of them that need lifetimes.
  public static let lifetimeKeys = ["lifetime_min_ns", "lifetime_median_ns", "lifetime_max_ns"]

  /// The columns that are shown when none are asked for.
  static let usualColumns = [
    "persistent_count", "persistent_bytes", "transient_count", "total_count", "total_bytes", "type",
  ]

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    let all = grid()
    let places = options.cut(all.order(by: options.sort))
    if options.format == .json { return json(places) + "\n" }
    var shown = all
    shown.rows = places.map { all.rows[$0] }
    shown = shown.selecting(options.columns ?? usual(options.format))
    if let text = options.plainText(shown, subject) { return text }
    return options.style.text(text(shown, of: all.rows.count, options))
  }

  /// Whether they were asked for.
  var hasLifetimes: Bool {
    statistics.total.lifetimes != nil || statistics.rows.contains { $0.tally.lifetimes != nil }
  }

  private func usual(_ format: ReportFormat) -> [String] {
    let numbers = Array(Self.usualColumns.dropLast())
    if groups != nil { return numbers + ["group"] }
    // CSV is for programs: it has the module too.
    return format == .csv ? numbers + ["kind", "module", "type"] : Self.usualColumns
  }

  private func text(_ shown: Grid, of total: Int, _ options: ReportOptions) -> [String] {
    var lines = Preface.lines(subject, style: options.style)
    if let scope { lines.insert(scope, at: lines.count - 1) }
    lines += shown.tableLines(style: options.style)
    lines += Footnotes.empty(
      shown: shown.rows.count, of: total, isFiltered: isFiltered || statistics.window != .whole,
      nothingAtAll: statistics.totalsByKind.isEmpty, lifespan: statistics.lifespan)
    lines += options.rest(of: total, shown: shown.rows.count, groups == nil ? "type" : "row")
    lines += Footnotes.kept(statistics.total.keptCount, statistics.total.keptBytes)
    if (options.columns ?? []).contains(where: Self.referenceKeys.contains) {
      lines += Footnotes.references(of: statistics.rows.map(\.type), information)
    }
    if hasLifetimes {
      lines.append(
        "lifetimes of the destroyed whose ends were seen, each to \(Units.duration(information.timeStep)), the step of times"
      )
    }
    // It is said of the process as a whole, at its end.
    if !isFiltered, statistics.window == .whole, let resident {
      let sentences = ResidentText.sentences(resident)
      if !sentences.isEmpty { lines += [""] + sentences.flatMap { options.style.warning($0) } }
    }
    return lines + Preface.closing(names, style: options.style)
  }

  /// Says which rows and which stretch are shown, where that is not the usual.
  private var scope: String? {
    var words: [String] = []
    switch statistics.lifespan {
    case .living: break
    case .all: words.append("all objects created")
    case .destroyed: words.append("created and destroyed")
    }
    if let groups { words.append("by " + groups.grouping.words) }
    if let from = statistics.window.from { words.append("from \(MomentText.of(from).printable)") }
    if let to = statistics.window.to, statistics.window.peak == nil {
      words.append("to \(MomentText.of(to).printable)")
    }
    return words.isEmpty ? nil : words.joined(separator: ", ")
  }

  private func grid() -> Grid {
    if let groups {
      var grid = Grid(
        columns: Self.countColumns + [
          GridColumn(key: "group", title: groups.grouping.title, isNumber: false, canShrink: true)
        ])
      grid.summary = summary.map { counts($0.tally) + [.word($0.word)] }
      grid.rows = groups.rows.map { counts($0.tally) + [.word($0.name)] }
      return grid
    }
    var grid = Grid(columns: Self.countColumns + Self.typeColumns)
    grid.summary = summary.map { counts($0.tally) + cells($0.tally, kind: "", module: "", type: $0.word) }
    grid.rows = statistics.rows.map { row in
      counts(row.tally)
        + cells(
          row.tally, kind: row.type.kind.description, module: names.module(of: row.type), type: names.name(of: row.type)
        )
    }
    return grid
  }

  private var summary: [(word: String, tally: Tally)] {
    let others = statistics.totalsByKind.filter { !$0.kind.isOnHeap }.sorted { $0.kind > $1.kind }
      .map { (SummaryWord.of($0.kind), $0.tally) }
    let all = (SummaryWord.all(isFiltered: isFiltered, information), statistics.total)
    if isFiltered {
      // Of these alone their sum is the sum.
      return [all] + (statistics.totalsByKind.contains { $0.kind.isOnHeap } ? others : [])
    }
    let swift = (SummaryWord.swiftObjects, swiftObjects)
    guard information.recordsMalloc else { return [swift] + others }
    let blocks = statistics.totalsByKind.filter { $0.kind == .malloc }.map { (SummaryWord.blocks, $0.tally) }
    return [all, swift] + blocks + others
  }

  private var swiftObjects: Tally {
    let others = statistics.totalsByKind.contains { !$0.kind.isSwiftObject && $0.kind.isOnHeap }
    guard others else { return statistics.total }
    return statistics.totalsByKind.reduce(into: Tally()) { if $1.kind.isSwiftObject { $0 += $1.tally } }
  }

  private func counts(_ tally: Tally) -> [Cell] {
    [
      .count(tally.persistentCount), .bytes(tally.persistentBytes.rawValue), .count(tally.transientCount),
      .bytes(tally.transientBytes.rawValue), .known(tally.temporaryCount),
      .count(tally.keptCount), .bytes(tally.keptBytes.rawValue), .count(tally.totalCount),
      .bytes(tally.totalBytes.rawValue), .duration(tally.lifetimes?.shortest), .duration(tally.lifetimes?.median),
      .duration(tally.lifetimes?.longest),
    ]
  }

  private func cells(_ tally: Tally, kind: String, module: String, type: String) -> [Cell] {
    [
      .known(tally.retains), .known(tally.releases), .known(tally.net), .known(tally.references), .word(kind),
      .word(module), .word(type),
    ]
  }
}
