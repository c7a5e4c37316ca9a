// The report of `lifespan compare`: a row a type, or a block a stack. Text, CSV, Markdown and JSON.
import LifespanAnalysis
import LifespanTrace

/// A comparison, ready to be written.
public struct ComparisonReport {
  private let comparison: Comparison
  private let base: ComparedRecording
  private let candidate: ComparedRecording
  /// Why they are unlike, where that was allowed.
  private let differences: [String]
  private let showsAll: Bool

  /// A report of an answer. `showsAll`: also what has not changed.
  public init(
    _ comparison: Comparison, base: ComparedRecording, candidate: ComparedRecording, differences: [String],
    showsAll: Bool
  ) {
    self.comparison = comparison
    self.base = base
    self.candidate = candidate
    self.differences = differences
    self.showsAll = showsAll
  }

  static let columns = [
    GridColumn(key: "base_count", title: "# Base"),
    GridColumn(key: "candidate_count", title: "# Candidate"),
    GridColumn(key: "change_count", title: "# Change"),
    GridColumn(key: "base_bytes", title: "Base"),
    GridColumn(key: "candidate_bytes", title: "Candidate"),
    GridColumn(key: "change_bytes", title: "Change"),
    GridColumn(key: "kind", title: "Kind", isNumber: false),
    GridColumn(key: "type", title: "Type", isNumber: false, canShrink: true),
  ]

  /// Keys that `--columns` and `--sort` take.
  public static let columnKeys = columns.map(\.key)

  private static let usualColumns = [
    "base_count", "candidate_count", "change_count", "base_bytes", "candidate_bytes", "change_bytes", "type",
  ]
  /// Stacks, at most, where no limit is asked for.
  private static let stacksShown = 20

  private var rows: [Comparison.Row] {
    showsAll ? comparison.rows : comparison.rows.filter { $0.count != 0 || $0.bytes != 0 }
  }

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    let rows = rows
    let all = grid(rows)
    let places = options.cut(all.order(by: options.sort))
    if options.format == .json { return json(places.map { rows[$0] }) + "\n" }
    var shown = all
    shown.rows = places.map { all.rows[$0] }
    shown = shown.selecting(options.columns ?? (options.format == .csv ? nil : Self.usualColumns))
    if let text = options.plainText(shown, candidate.subject) { return text }
    var lines = head(options.style)
    if comparison.matching == .type || rows.isEmpty {
      lines += shown.tableLines(style: options.style)
      if rows.isEmpty { lines.append("nothing has changed") }
      lines += options.rest(of: rows.count, shown: places.count, "type")
    } else {
      lines += stacks(places.prefix(options.limit ?? Self.stacksShown).map { rows[$0] }, options)
      lines += options.rest(of: rows.count, shown: min(rows.count, options.limit ?? Self.stacksShown), "stack")
    }
    return options.style.text(lines + closing(options.style))
  }

  private func head(_ style: TextStyle) -> [String] {
    var lines: [String] = []
    for (name, recording) in [("base", base), ("candidate", candidate)] {
      lines += Preface.notes(recording.subject).flatMap { style.warning("\(name): \($0)") }
      lines.append("\(name): \(Preface.headline(recording.subject))")
    }
    lines += differences.flatMap { style.warning("unlike: \($0)") }
    let what = "\(comparison.lifespan.rawValue) objects, matched by the names of their types"
    return lines + [what + (comparison.matching == .stack ? " and of all functions of their stacks" : ""), ""]
  }

  /// What kept names from being found, each said once. To be asked after all names.
  private var notes: [String] {
    var seen: Set<String> = []
    return (base.names.notes + candidate.names.notes).filter { seen.insert($0).inserted }
  }

  private func closing(_ style: TextStyle) -> [String] {
    let notes = notes
    return notes.isEmpty ? [] : [""] + notes.flatMap { style.warning($0) }
  }

  private func stacks(_ rows: [Comparison.Row], _ options: ReportOptions) -> [String] {
    var lines = ["all: \(Self.change(comparison.total))", ""]
    for row in rows {
      let head = "\(Self.change(row)): \(row.key.type)"
      lines.append(options.style.heading(ShortNames.shortened(head, to: options.style.width)))
      for frame in row.frames {
        lines.append("    " + ShortNames.shortened(frame.description, to: options.style.width - 4))
      }
      if row.frames.isEmpty { lines.append("    (no stack was recorded)") }
      lines.append("")
    }
    if lines.last == "" { lines.removeLast() }
    return lines
  }

  /// `+100 objects, +4,800 B (200 to 300)`.
  private static func change(_ row: Comparison.Row) -> String {
    let bytes = (row.bytes > 0 ? "+" : "") + Units.bytes(row.bytes)
    return
      "\(Units.signed(Int64(row.count))) objects, \(bytes) (\(Units.count(row.base.count)) to \(Units.count(row.candidate.count)))"
  }

  private func grid(_ rows: [Comparison.Row]) -> Grid {
    var grid = Grid(columns: Self.columns)
    grid.summary = [cells(comparison.total, "", "all of these")]
    grid.rows = rows.map { cells($0, $0.key.kind.description, $0.key.type) }
    return grid
  }

  private func cells(_ row: Comparison.Row, _ kind: String, _ type: String) -> [Cell] {
    [
      .count(Int64(row.base.count)), .count(Int64(row.candidate.count)), .count(Int64(row.count)),
      .bytes(row.base.bytes), .bytes(row.candidate.bytes), .bytes(row.bytes), .word(kind), .word(type),
    ]
  }

  // MARK: JSON

  private func json(_ rows: [Comparison.Row]) -> String {
    func recording(_ recording: ComparedRecording) -> JSONValue {
      .object(Preface.jsonHead(recording.subject).filter { $0.key != "format" } + Preface.jsonEvents(recording.subject))
    }
    return JSONValue.pairs([
      "format": .integer(1), "base": recording(base), "candidate": recording(candidate),
      "lifespan": .string(comparison.lifespan.rawValue), "by": .string(comparison.matching.rawValue),
      "unlike": .array(differences.map { .string($0) }),
      "rows": .array(
        rows.map { row in
          .object(
            JSONValue.pairs(["type": .string(row.key.type), "kind": .string(row.key.kind.description)]).members
              + Self.members(row)
              + (comparison.matching == .stack
                ? JSONValue.pairs(["allocated_by": .array(row.frames.map(FrameJSON.value))]).members : []))
        }),
      "total": .object(Self.members(comparison.total)), "symbol_notes": .array(notes.map { .string($0) }),
    ]).text
  }

  private static func members(_ row: Comparison.Row) -> [JSONValue.Member] {
    JSONValue.pairs([
      "base_count": .integer(Int64(row.base.count)), "base_bytes": .integer(row.base.bytes),
      "candidate_count": .integer(Int64(row.candidate.count)), "candidate_bytes": .integer(row.candidate.bytes),
      "change_count": .integer(Int64(row.count)), "change_bytes": .integer(row.bytes),
    ]).members
  }
}
