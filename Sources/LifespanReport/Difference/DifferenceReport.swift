// The report of `lifespan diff`: new, dead and survived between two moments. Text and JSON.
import LifespanAnalysis
import LifespanTrace

/// A difference, ready to be written.
public struct DifferenceReport {
  let difference: Difference
  let subject: ReportSubject
  var information: TraceInformation { subject.information }
  let names: ReportNames
  /// A filter left only some types: the sums are of these.
  let isFiltered: Bool

  /// A report of an answer; `isFiltered` where it was asked for some types only.
  public init(_ difference: Difference, subject: ReportSubject, names: ReportNames, isFiltered: Bool = false) {
    self.difference = difference
    self.subject = subject
    self.names = names
    self.isFiltered = isFiltered
  }

  static let columns = [
    GridColumn(key: "new_count", title: "# New"),
    GridColumn(key: "new_bytes", title: "New"),
    GridColumn(key: "dead_count", title: "# Dead"),
    GridColumn(key: "dead_bytes", title: "Dead"),
    GridColumn(key: "survived_count", title: "# Survived"),
    GridColumn(key: "survived_bytes", title: "Survived"),
    GridColumn(key: "transient_count", title: "# Transient"),
    GridColumn(key: "transient_bytes", title: "Transient"),
    GridColumn(key: "kind", title: "Kind", isNumber: false),
    GridColumn(key: "module", title: "Module", isNumber: false, canShrink: true),
    GridColumn(key: "type", title: "Type", isNumber: false, canShrink: true),
  ]

  /// Keys that `--columns` and `--sort` take.
  public static let columnKeys = columns.map(\.key)

  static let usualColumns = [
    "new_count", "new_bytes", "dead_count", "dead_bytes", "survived_count", "survived_bytes", "transient_count", "type",
  ]

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    let all = grid()
    let places = options.cut(all.order(by: options.sort))
    if options.format == .json { return json(places) + "\n" }
    var shown = all
    shown.rows = places.map { all.rows[$0] }
    let usual = options.format == .csv ? nil : Self.usualColumns
    shown = shown.selecting(options.columns ?? usual)
    if let text = options.plainText(shown, subject) { return text }
    var lines = Preface.lines(subject, style: options.style)
    lines.insert(
      "from \(MomentText.of(difference.from).printable) to \(MomentText.of(difference.to).printable): new = born between and living, "
        + "dead = died between, transient = both", at: lines.count - 1)
    lines += shown.tableLines(style: options.style)
    if isFiltered || !all.rows.isEmpty {
      lines += Footnotes.empty(shown: places.count, of: all.rows.count, isFiltered: isFiltered, nothingAtAll: true)
    } else {
      lines.append("nothing was made or destroyed between them, and nothing lived through")
    }
    lines += options.rest(of: all.rows.count, shown: places.count, "type")
    lines += Preface.closing(names, style: options.style)
    return options.style.text(lines)
  }

  private func grid() -> Grid {
    var grid = Grid(columns: Self.columns)
    grid.summary = [cells(difference.total, "", "", SummaryWord.all(isFiltered: isFiltered, information))]
    for (kind, change) in difference.apart.sorted(by: { $0.key > $1.key }) {
      grid.summary.append(cells(change, "", "", SummaryWord.of(kind)))
    }
    grid.rows = difference.rows.map { row in
      cells(row.change, row.type.kind.description, names.module(of: row.type), names.name(of: row.type))
    }
    return grid
  }

  private func cells(_ change: Difference.Change, _ kind: String, _ module: String, _ type: String) -> [Cell] {
    [change.new, change.dead, change.survived, change.transient].flatMap { amount -> [Cell] in
      [.count(amount.count), .bytes(amount.bytes.rawValue)]
    } + [.word(kind), .word(module), .word(type)]
  }

  private func json(_ places: [Int]) -> String {
    var members = Preface.jsonHead(subject) + Preface.jsonEvents(subject)
    members +=
      JSONValue.pairs([
        "from": .string(MomentText.of(difference.from)), "to": .string(MomentText.of(difference.to)),
        "rows": .array(
          places.map { place in
            let row = difference.rows[place]
            return .object(TypeJSON.members(row.type, names) + Self.members(row.change))
          }),
        "total": .object(Self.members(difference.total)),
      ]).members
    return JSONValue.object(members + Preface.jsonClosing(names)).text
  }

  private static func members(_ change: Difference.Change) -> [JSONValue.Member] {
    let amounts = [
      ("new", change.new), ("dead", change.dead), ("survived", change.survived), ("transient", change.transient),
    ]
    return amounts.flatMap { name, amount -> [JSONValue.Member] in
      [
        .init(key: name + "_count", value: .integer(Int64(amount.count))),
        .init(key: name + "_bytes", value: .integer(amount.bytes.rawValue)),
      ]
    }
  }
}
