// What a reader may choose about a report's form: format, columns, order, length. Filled by the command.

/// The form of a report's output.
public enum ReportFormat: String, Sendable, CaseIterable {
  /// Text for a terminal.
  case table
  /// One JSON document.
  case json
  /// A line of keys, then one line a row, numbers bare.
  case csv
  /// A table for a text that will be rendered.
  case markdown
  /// Test results for a CI server; of leaks and growth only.
  case junit

  /// The forms of every report that is a table.
  public static let tables: [ReportFormat] = [.table, .json, .csv, .markdown]
}

/// How a report is written.
public struct ReportOptions: Sendable {
  /// The form.
  public var format: ReportFormat
  /// Keys of the columns to show, in this order; nil: the usual ones.
  public var columns: [String]?
  /// Key of the column to sort by; nil: the order of the analysis.
  public var sort: String?
  /// Rows, at most; nil: all.
  public var limit: Int?
  /// Colour or none.
  public var style: TextStyle

  /// The usual form: a table with everything in it.
  public init(
    format: ReportFormat = .table, columns: [String]? = nil, sort: String? = nil, limit: Int? = nil,
    style: TextStyle = TextStyle()
  ) {
    self.format = format
    self.columns = columns
    self.sort = sort
    self.limit = limit
    self.style = style
  }

  /// The first of the places, as many as the limit allows.
  func cut(_ places: [Int]) -> [Int] { limit.map { Array(places.prefix($0)) } ?? places }

  /// CSV or Markdown of these rows; nil where neither is asked for. CSV has no room for what is missing in a recording:
  /// whoever prints it says that elsewhere.
  func plainText(_ grid: Grid, _ subject: ReportSubject) -> String? {
    switch format {
    case .csv: return grid.csvLines().joined(separator: "\n") + "\n"
    case .markdown:
      let notes = Preface.asides(subject).map { "> \($0.printable)\n" }
      return (notes + grid.markdownLines()).joined(separator: "\n") + "\n"
    case .table, .json, .junit: return nil
    }
  }

  /// The line below a table that a limit cut.
  func rest(of total: Int, shown: Int, _ thing: String) -> [String] {
    total > shown ? ["… \(Units.things(total - shown, "more " + thing)) (--limit)"] : []
  }
}
