// The report of `lifespan threads`: one row a thread. Text, CSV and Markdown; JSON stands beside it.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// The threads of a recording, ready to be written.
public struct ThreadsReport {
  let list: ThreadList
  let subject: ReportSubject
  let names: ReportNames

  /// A report of an answer.
  public init(_ list: ThreadList, subject: ReportSubject, names: ReportNames) {
    self.list = list
    self.subject = subject
    self.names = names
  }

  static let columns = [
    GridColumn(key: "thread", title: "#", sortsDown: false),
    GridColumn(key: "tid", title: "TID", sortsDown: false),
    GridColumn(key: "name", title: "Name", isNumber: false),
    GridColumn(key: "state", title: "State", isNumber: false),
    GridColumn(key: "born_ns", title: "Born", sortsDown: false),
    GridColumn(key: "ended_ns", title: "Ended", sortsDown: false),
    GridColumn(key: "age_ns", title: "Age"),
    GridColumn(key: "events", title: "# Events"),
    GridColumn(key: "last_event_ns", title: "Last event", sortsDown: false),
    GridColumn(key: "stack_bytes", title: "Stack reserved"),
    GridColumn(key: "creator", title: "By #", sortsDown: false),
    GridColumn(key: "created_by", title: "Created by", isNumber: false, canShrink: true),
    GridColumn(key: "start", title: "Runs", isNumber: false, canShrink: true),
  ]

  /// Keys that `--columns` and `--sort` take.
  public static let columnKeys = columns.map(\.key)

  /// The columns that are shown when none are asked for.
  static let usualColumns = [
    "thread", "name", "state", "born_ns", "age_ns", "last_event_ns", "creator", "created_by", "start",
  ]

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    let all = grid()
    let places = options.cut(all.order(by: options.sort))
    if options.format == .json { return json(places.map { list.rows[$0] }) + "\n" }
    var shown = all
    shown.rows = places.map { all.rows[$0] }
    shown = shown.selecting(options.columns ?? (options.format == .csv ? nil : Self.usualColumns))
    if let text = options.plainText(shown, subject) { return text }
    return options.style.text(text(shown, of: all.rows.count, options))
  }

  private func text(_ shown: Grid, of total: Int, _ options: ReportOptions) -> [String] {
    var lines = Preface.lines(subject, style: options.style)
    let count = list.livingCount + list.endedCount
    lines.insert(
      "\(Units.things(count, "thread")): \(Units.count(list.livingCount)) living, \(Units.count(list.endedCount)) ended",
      at: lines.count - 1)
    if total == 0 {
      let others = "there is no such thread (--lifespan all shows them all)"
      lines.append(list.lifespan == .all ? "no thread was seen" : others)
    } else {
      lines += shown.tableLines(style: options.style)
    }
    lines += options.rest(of: total, shown: shown.rows.count, "thread")
    lines += remarks
    return lines + Preface.closing(names, style: options.style)
  }

  /// What the times in the rows are not.
  var remarks: [String] {
    var lines: [String] = []
    if list.rows.contains(where: { !$0.isOriginKnown && $0.thread != .main }) {
      lines.append(
        subject.information.door == .linked
          ? "the linked library sees a thread with its first event: who made it and when is not known"
          : "a thread that no pthread_create made is born where it was first seen")
    }
    if list.rows.contains(where: { $0.state == .gone }) {
      lines.append("gone: found to have ended, up to a moment after it did")
    }
    return lines
  }

  private func grid() -> Grid {
    var grid = Grid(columns: Self.columns)
    grid.rows = list.rows.map { row in
      [
        .count(Int64(row.thread.rawValue)), .word(row.tid == 0 ? "-" : String(row.tid)), .word(name(row)),
        .word(row.state.rawValue), .moment(row.born.rawValue), .moment(row.ended?.rawValue), .moment(row.age),
        .count(row.events), .moment(row.lastEvent?.rawValue),
        row.stackBytes.map { .bytes($0.rawValue) } ?? .word("-"),
        row.creator.map { .count(Int64($0.rawValue)) } ?? .word("-"), .word(creation(row)?.function ?? "-"),
        .word(start(row)?.function ?? "-"),
      ]
    }
    return grid
  }

  private func name(_ row: ThreadList.Row) -> String { row.name.isEmpty ? "-" : row.name }

  /// The program's own function on the way to the creation.
  func creation(_ row: ThreadList.Row) -> Frame? { names.allocator(of: row.stack) }

  /// The function that it runs.
  func start(_ row: ThreadList.Row) -> Frame? { names.function(startingAt: row.start) }
}
