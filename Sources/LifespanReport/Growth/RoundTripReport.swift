// The report of `lifespan growth --round`: the suspects of one round, with what lived before and after. Every format.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// One round's suspects, ready to be written.
public struct RoundTripReport {
  let round: RoundTrip
  let from: Moment
  let to: Moment
  let subject: ReportSubject
  var information: TraceInformation { subject.information }
  let names: ReportNames
  /// A filter left only some types.
  let isFiltered: Bool
  /// A limit of `--fail-on` is passed: in JUnit suspects are failures.
  let isOverLimit: Bool
  let suspects: Suspects

  /// A report of an answer; `heap`: a picture to tell holders from.
  public init(
    _ round: RoundTrip, from: Moment, to: Moment, heap: Heap?, subject: ReportSubject, names: ReportNames,
    isFiltered: Bool = false, isOverLimit: Bool = false
  ) {
    // What a reader looks for is the program's own; what it is made of comes along.
    var round = round
    if !isFiltered {
      round.rows =
        round.rows.filter { !ReportNames.isToolchainType($0.type) }
        + round.rows.filter { ReportNames.isToolchainType($0.type) }
    }
    self.round = round
    self.from = from
    self.to = to
    self.subject = subject
    self.names = names
    self.isFiltered = isFiltered
    self.isOverLimit = isOverLimit
    suspects = Suspects(round.rows, heap)
  }

  static let columns = [
    GridColumn(key: "before_count", title: "# Before"),
    GridColumn(key: "inside_count", title: "# Inside"),
    GridColumn(key: "inside_bytes", title: "Inside"),
    GridColumn(key: "after_count", title: "# After"),
    GridColumn(key: "living_count", title: "# At end"),
    GridColumn(key: "kind", title: "Kind", isNumber: false),
    GridColumn(key: "module", title: "Module", isNumber: false, canShrink: true),
    GridColumn(key: "type", title: "Type", isNumber: false, canShrink: true),
  ]

  /// Keys that `--columns` and `--sort` take.
  public static let columnKeys = columns.map(\.key)
  static let usualColumns = ["before_count", "inside_count", "inside_bytes", "after_count", "living_count", "type"]

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    var grid = Grid(columns: Self.columns)
    grid.summary = [cells(round.total, "", "", SummaryWord.all(isFiltered: isFiltered, information))]
    for (kind, total) in round.apart.sorted(by: { $0.key > $1.key }) {
      grid.summary.append(cells(total, "", "", SummaryWord.of(kind)))
    }
    grid.rows = round.rows.map { row in
      var total = RoundTrip.Total()
      (total.before, total.inside, total.insideBytes) = (row.before, row.inside, row.insideBytes)
      (total.after, total.living) = (row.after, row.living)
      return cells(total, row.type.kind.description, names.module(of: row.type), names.name(of: row.type))
    }
    let places = options.cut(grid.order(by: options.sort))
    switch options.format {
    case .json: return json(places)
    case .junit: return junit()
    case .table, .csv, .markdown: break
    }
    grid.rows = places.map { grid.rows[$0] }
    grid = grid.selecting(options.columns ?? (options.format == .csv ? nil : Self.usualColumns))
    if options.format == .markdown { return markdown(grid, options) }
    if let text = options.plainText(grid, subject) { return text }
    let style = options.style
    var lines = Preface.lines(subject, style: style)
    lines.insert(contentsOf: TextStyle.wrapped(sentence, to: style.width), at: lines.count - 1)
    lines += grid.tableLines(style: style)
    if round.rows.isEmpty { lines.append("nothing that was born inside lived when the round was over") }
    lines += options.rest(of: round.rows.count, shown: places.count, "type")
    for row in places.prefix(options.limit ?? GrowthReport.detailsShown).map({ round.rows[$0] }) {
      lines += ["", style.heading(ShortNames.shortened(title(row), to: style.width))] + body(row, style)
    }
    return style.text(lines + Preface.closing(names, style: style))
  }

  private var sentence: String {
    "from \(MomentText.of(from).printable) to \(MomentText.of(to).printable): inside = suspects, born inside and living when the "
      + "round was over; one round is evidence, not a verdict: a cache that was filled is among them"
  }

  private func cells(_ total: RoundTrip.Total, _ kind: String, _ module: String, _ type: String) -> [Cell] {
    [
      .count(total.before), .count(total.inside), .bytes(total.insideBytes.rawValue), .count(total.after),
      .count(total.living), .word(kind), .word(module), .word(type),
    ]
  }

  private func title(_ row: RoundTrip.Row) -> String {
    "\(Units.things(row.inside, "suspect")): \(names.name(of: row.type)), \(Units.bytes(row.insideBytes.rawValue))"
  }

  /// What became of them, then each stack with the holder of one of its suspects.
  private func body(_ row: RoundTrip.Row, _ style: TextStyle) -> [String] {
    let late = row.inside - row.living
    var lines: [String] = []
    if late > 0 {
      lines.append("  \(Units.count(late)) died late, \(Units.count(row.living)) live at the end of the recording")
    }
    let shown = row.sites.prefix(3)
    for site in shown {
      lines += suspects.lines(site, names, width: style.width)
      lines.append("  \(Units.count(site.count)) × \(SuspectNumbers.text(site)), allocated by")
      lines += StackText.lines(site.stack, names, style: style)
    }
    let rest = row.sites.count - shown.count
    return lines + (rest > 0 ? ["  … \(Units.things(rest, "more stack")) (--json)"] : [])
  }

  private func markdown(_ grid: Grid, _ options: ReportOptions) -> String {
    let program = GrowthReport.escaped(Preface.programName(information).printable)
    let count = Units.things(round.suspects, "suspect")
    var lines = ["**\(program): \(count) of one round**", ""]
    lines += Preface.asides(subject).map { "> \($0.printable)\n" }
    lines += [GrowthReport.escaped(sentence), ""] + grid.markdownLines()
    let style = TextStyle(usesColor: false, terminalWidth: 400)
    for row in round.rows.prefix(options.limit ?? GrowthReport.detailsShown) {
      lines += ["", "<details><summary>\(GrowthReport.escaped(title(row).printable))</summary>", "", "```"]
      lines += body(row, style).map { $0.printable.replacing("```", with: "'''") } + ["```", "", "</details>"]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// One test case a type with suspects: failures where a limit is passed, else remarks.
  private func junit() -> String {
    var suite = JUnitSuite(name: "round")
    for row in round.rows {
      let what = "\(Units.things(row.inside, "suspect")), \(Units.bytes(row.insideBytes.rawValue))"
      let name = "\(names.name(of: row.type)) survived"
      if isOverLimit {
        suite.add(name, failure: what, text: body(row, TextStyle(usesColor: false, terminalWidth: 1_000)))
      } else {
        suite.add(name, skip: "within the limits: \(what)")
      }
    }
    if suite.isEmpty { suite.add("no suspects") }
    return suite.text
  }

  private func json(_ places: [Int]) -> String {
    var text = ""
    JSONDocument(parts: [
      .members(
        Preface.jsonHead(subject) + Preface.jsonEvents(subject)
          + JSONValue.pairs([
            "from": .string(MomentText.of(from)), "to": .string(MomentText.of(to)),
            "suspects": .integer(Int64(round.suspects)),
          ]).members),
      .list(key: "rows", count: places.count) { self.value(self.round.rows[places[$0]]) },
      .members([
        .init(
          key: "total",
          value: .pairs([
            "before_count": .integer(Int64(round.total.before)), "inside_count": .integer(Int64(round.total.inside)),
            "inside_bytes": .integer(round.total.insideBytes.rawValue),
            "after_count": .integer(Int64(round.total.after)), "living_count": .integer(Int64(round.total.living)),
          ])), .init(key: "picture", value: .optional(suspects.picture(subject))),
      ]),
      .late { Preface.jsonClosing(self.names) },
    ]).write { text += $0 }
    return text
  }

  private func value(_ row: RoundTrip.Row) -> JSONValue {
    .object(
      TypeJSON.members(row.type, names)
        + JSONValue.pairs([
          "before_count": .integer(Int64(row.before)), "inside_count": .integer(Int64(row.inside)),
          "inside_bytes": .integer(row.insideBytes.rawValue), "after_count": .integer(Int64(row.after)),
          "living_count": .integer(Int64(row.living)),
          "stacks": .array(
            row.sites.map { site in
              .object(
                JSONValue.pairs([
                  "count": .integer(Int64(site.count)), "bytes": .integer(site.bytes.rawValue),
                  "living_count": .integer(Int64(site.living)),
                ]).members + suspects.members(site, names))
            }),
        ]).members)
  }
}
