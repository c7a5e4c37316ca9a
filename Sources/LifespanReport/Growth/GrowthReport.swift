// The report of `lifespan growth`: each type's verdict over the rounds. Table, CSV and Markdown; JSON, JUnit and what is told of types
// that grow stand beside it.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// Verdicts over the marks, ready to be written.
public struct GrowthReport {
  let trends: GrowthTrends
  let subject: ReportSubject
  var information: TraceInformation { subject.information }
  let names: ReportNames
  /// A filter left only some types.
  let isFiltered: Bool
  /// Every verdict is shown, not only what moves.
  let showsAll: Bool
  /// Of the types that grow, what the rounds have left, by type.
  let left: [TypeIdentity: RoundTrip.Row]
  let suspects: Suspects

  /// A report of an answer; `left`: what is left of the rounds, of the types that grow; `heap`: a picture to tell holders from.
  public init(
    _ trends: GrowthTrends, left: RoundTrip, heap: Heap?, subject: ReportSubject, names: ReportNames,
    isFiltered: Bool = false, showsAll: Bool = false
  ) {
    self.trends = isFiltered ? trends : Self.ownFirst(trends)
    self.subject = subject
    self.names = names
    self.isFiltered = isFiltered
    self.showsAll = showsAll
    self.left = Dictionary(left.rows.map { ($0.type, $0) }) { one, _ in one }
    suspects = Suspects(left.rows, heap)
  }

  /// What a reader looks for is the program's own, its classes before closures and arrays; what these are made of comes along.
  private static func ownFirst(_ trends: GrowthTrends) -> GrowthTrends {
    func rank(_ row: GrowthTrends.Row) -> Int {
      let verdict = row.verdict.flatMap { TrendVerdict.allCases.firstIndex(of: $0) } ?? 0
      return 4 * verdict + (ReportNames.isToolchainType(row.type) ? 2 : 0) + (row.type.kind == .classInstance ? 0 : 1)
    }
    var sorted = trends
    sorted.rows = trends.rows.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
      .map(\.element)
    return sorted
  }

  static let columns = [
    GridColumn(key: "verdict", title: "Verdict", isNumber: false),
    GridColumn(key: "count_per_round", title: "# / round"),
    GridColumn(key: "bytes_per_round", title: "Growth / round"),
    GridColumn(key: "count_per_hour", title: "# / hour"),
    GridColumn(key: "bytes_per_hour", title: "Growth / hour"),
    GridColumn(key: "first_count", title: "# First"),
    GridColumn(key: "last_count", title: "# Last"),
    GridColumn(key: "first_bytes", title: "First"),
    GridColumn(key: "last_bytes", title: "Last"),
    GridColumn(key: "highs", title: "New highs"),
    GridColumn(key: "chance_percent", title: "Chance %"),
    GridColumn(key: "by_round", title: "By round", isNumber: false),
    GridColumn(key: "left_by_round", title: "Left by round", isNumber: false),
    GridColumn(key: "kind", title: "Kind", isNumber: false),
    GridColumn(key: "module", title: "Module", isNumber: false, canShrink: true),
    GridColumn(key: "type", title: "Type", isNumber: false, canShrink: true),
  ]

  /// Keys that `--columns` and `--sort` take.
  public static let columnKeys = columns.map(\.key)

  static let usualColumns = [
    "verdict", "count_per_round", "bytes_per_round", "bytes_per_hour", "by_round", "type",
  ]

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    var rows = trends.rows
    // Documents and CSV have everything; a reader's eye wants what moves.
    let isForEyes = options.format == .table || options.format == .markdown
    if isForEyes, !showsAll, !isFiltered { rows = rows.filter(isMoving) }
    var grid = Grid(columns: Self.columns)
    grid.rows = rows.map { cells($0, names.name(of: $0.type)) }
    let places = options.cut(grid.order(by: options.sort))
    switch options.format {
    case .json: return json(places)
    case .junit: return junit()
    case .table, .csv, .markdown: break
    }
    grid.rows = places.map { grid.rows[$0] }
    grid.summary = [cells(trends.total, SummaryWord.all(isFiltered: isFiltered, information))]
    grid = grid.selecting(options.columns ?? (options.format == .csv ? nil : Self.usualColumns))
    if options.format == .markdown { return markdown(grid, of: rows.count, options) }
    if let text = options.plainText(grid, subject) { return text }
    var lines = Preface.lines(subject, style: options.style)
    lines.insert(contentsOf: looked(options.style), at: lines.count - 1)
    lines += grid.tableLines(style: options.style)
    lines += options.rest(of: rows.count, shown: places.count, "type") + others(rows.count)
    lines += details(options)
    return options.style.text(lines + Preface.closing(names, style: options.style))
  }

  /// Whether a row is worth a line where not all are asked for.
  private func isMoving(_ row: GrowthTrends.Row) -> Bool {
    if let verdict = row.verdict { return verdict != .plateau }
    return row.counts.first != row.counts.last || row.bytes.first != row.bytes.last
  }

  /// Which levels these are, and what a verdict is.
  func looked(_ style: TextStyle) -> [String] {
    var lines = TextStyle.wrapped(rounds, to: style.width)
    if let withheld = trends.withheld { return lines + style.warning("no verdict: \(withheld)") }
    lines += TextStyle.wrapped(
      "the numbers of living objects at the marks are exact, a verdict is an inference: linear where they rise with the rounds "
        + "by less than 1 in 100 chance, and still do", to: style.width)
    return lines
  }

  /// `4 rounds, round 1 to round 4, 0.250 s each; warm-up: launched`.
  private var rounds: String {
    guard let first = trends.rounds.first, let last = trends.rounds.last else {
      return "no rounds" + (trends.warmUpMarks.isEmpty ? "" : "; " + warmUp)
    }
    let each = (last.time.rawValue - trends.begin.rawValue) / Int64(trends.rounds.count)
    let names =
      trends.rounds.count == 1 ? first.name.printable : "\(first.name.printable) to \(last.name.printable)"
    let time = each < 1_000_000_000 ? Units.moment(each) : Units.seconds(each)
    return "\(Units.things(trends.rounds.count, "round")), \(names), of \(time) on average; " + warmUp
  }

  private var warmUp: String {
    let marks = trends.warmUpMarks
    guard let last = marks.last else { return "no warm-up left out: the first round begins with the recording" }
    let which = marks.count == 1 ? last.printable : "\(Units.count(marks.count)) marks up to \(last.printable)"
    switch trends.warmUp {
    case .discarded: return "left out, as events before were discarded: \(which)"
    case .first: return "left out as warm-up: \(which) (--warm-up 0 takes it in)"
    case .asked, .named, .none: return "left out as warm-up: \(which)"
    }
  }

  /// What is not in the table.
  private func others(_ shown: Int) -> [String] {
    if trends.rounds.isEmpty, trends.warmUpMarks.isEmpty {
      return ["no mark was set: lifespan mark sets one at the end of each round, --mark-at adds one to a recording"]
    }
    if trends.rows.isEmpty { return [isFiltered ? "nothing of these types lived at any mark" : "nothing was recorded"] }
    let rest = trends.rows.count - shown
    guard rest > 0 else { return [] }
    let how = trends.withheld == nil ? "on a plateau" : "where they were before the first round"
    let words = rest == 1 ? ("stands", "it") : ("stand", "them")
    return ["\(Units.things(rest, "type")) \(words.0) \(how) (--all lists \(words.1))"]
  }

  func cells(_ row: GrowthTrends.Row, _ name: String) -> [Cell] {
    [
      .word(row.verdict?.rawValue ?? "-"), .thousandths(row.byCount?.perRound),
      .knownBytes(row.byBytes.map { GrowthText.whole($0.perRound) }),
      .known(row.byCount.flatMap { trends.perHour($0.perRound) }.map { Int($0) }),
      .knownBytes(row.byBytes.flatMap { trends.perHour($0.perRound) }), .count(row.counts.first ?? 0),
      .count(row.counts.last ?? 0), .bytes(row.bytes.first ?? 0), .bytes(row.bytes.last ?? 0),
      .known(row.leading?.highs.count), .thousandths(row.leading.map { $0.chance / 10 }),
      .word(GrowthText.steps(row)), .word(GrowthText.list(row.left.map { Units.count($0) })),
      .word(row.type.kind.description), .word(names.module(of: row.type)), .word(name),
    ]
  }
}

extension GrowthTrends.Row {
  /// Whether the number stands still and the bytes do not.
  var growsByBytesAlone: Bool { byCount?.verdict == .plateau && byBytes.map { $0.verdict != .plateau } ?? false }
  /// The trend that the verdict comes from.
  var leading: Trend? {
    guard let byCount, let byBytes, byCount.verdict != verdict else { return byCount }
    return byBytes
  }
}

/// Words for levels.
enum GrowthText {
  /// Thousandths to the nearest whole number.
  static func whole(_ thousandths: Int64) -> Int64 {
    (thousandths + (thousandths < 0 ? -500 : 500)) / 1_000
  }

  /// What each round added: objects, or bytes where the number stands still.
  static func steps(_ row: GrowthTrends.Row) -> String {
    let levels = row.growsByBytesAlone ? row.bytes : row.counts.map(Int64.init)
    return list(zip(levels.dropFirst(), levels).map { Units.signed($0 - $1) }) + (row.growsByBytesAlone ? " B" : "")
  }

  /// As many as a column has room for, the last ones.
  static func list(_ words: [String], room: Int = 22) -> String {
    var shown: [String] = []
    var length = 0
    for word in words.reversed() {
      length += word.count + 1
      if length > room { return (["…"] + shown).joined(separator: " ") }
      shown.insert(word, at: 0)
    }
    return shown.joined(separator: " ")
  }

  /// `0.83%` of millionths.
  static func percent(_ millionths: Int64) -> String { Units.thousandths(millionths / 10) + "%" }

  /// Why the verdict is what it is.
  static func reason(_ trend: Trend, rounds: Int) -> String {
    let highs = trend.highs.count
    let last = trend.highs.last ?? 0
    switch trend.verdict {
    case .linear:
      let often = highs == rounds ? "in each of \(Units.things(rounds, "round"))" : "in \(highs) of \(rounds) rounds"
      return "a new high \(often), the last in round \(last); by chance \(percent(trend.chance))"
    case .noise:
      return "\(Units.things(highs, "new high")) in \(rounds) rounds, the last in round \(last); by chance "
        + percent(trend.chance)
    case .plateau:
      return highs == 0 ? "never above where the first round began" : "no new high since round \(last) of \(rounds)"
    }
  }
}
