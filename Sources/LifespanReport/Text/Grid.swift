// Rows and columns before they become text: the same cells as a table, as CSV and as Markdown. Made by the renderers.

/// What stands in a cell.
enum Cell: Equatable {
  case count(Int64)
  case bytes(Int64)
  /// A number that may not be known.
  case known(Int?)
  /// A number with decimals, in thousandths, that may not be known.
  case thousandths(Int64?)
  /// Bytes that may not be known.
  case knownBytes(Int64?)
  /// Seconds with six decimals, from nanoseconds.
  case moment(Int64?)
  /// A stretch of time in the unit that suits it, from nanoseconds.
  case duration(Int64?)
  case word(String)

  static func count(_ value: Int) -> Cell { .count(Int64(value)) }

  /// As a person reads it.
  var text: String {
    switch self {
    case .count(let value): return Units.count(value)
    case .bytes(let value): return Units.bytes(value)
    case .known(let value): return value.map { Units.count($0) } ?? "-"
    case .thousandths(let value): return value.map { Units.thousandths($0) } ?? "-"
    case .knownBytes(let value): return value.map { Units.bytes($0) } ?? "-"
    case .moment(let value): return value.map(Units.moment) ?? "-"
    case .duration(let value): return value.map(Units.duration) ?? "-"
    case .word(let text): return text.printable
    }
  }

  /// As a program reads it: no units, no separators.
  var raw: String {
    switch self {
    case .count(let value), .bytes(let value): return String(value)
    case .known(let value): return value.map { String($0) } ?? ""
    case .thousandths(let value): return value.map { Units.thousandths($0).filter { $0 != "," } } ?? ""
    case .knownBytes(let value): return value.map { String($0) } ?? ""
    case .moment(let value), .duration(let value): return value.map { String($0) } ?? ""
    case .word(let text): return text
    }
  }

  fileprivate var number: Int64? {
    switch self {
    case .count(let value), .bytes(let value): return value
    case .known(let value): return value.map(Int64.init)
    case .thousandths(let value), .knownBytes(let value): return value
    case .moment(let value), .duration(let value): return value
    case .word: return nil
    }
  }

  /// Before another cell of its column; nil: neither. What is not known comes last, whichever way it is sorted.
  func isBefore(_ other: Cell, down: Bool) -> Bool? {
    if case .word(let own) = self, case .word(let others) = other { return own == others ? nil : own < others }
    guard number != other.number else { return nil }
    guard let own = number, let others = other.number else { return number != nil }
    return down ? own > others : own < others
  }
}

/// A column: its key (in `--columns`, `--sort`, CSV and JSON alike) and its title in tables.
struct GridColumn: Equatable {
  let key: String
  let title: String
  var isNumber = true
  /// Long names give way to the width of a line.
  var canShrink = false
  /// Numbers are sorted with the largest first, moments and words with the smallest.
  var sortsDown = true
}

/// A table of cells.
struct Grid {
  var columns: [GridColumn]
  var summary: [[Cell]] = []
  var rows: [[Cell]] = []

  /// The same rows with some of the columns, in the order asked for.
  func selecting(_ keys: [String]?) -> Grid {
    guard let keys else { return self }
    let places = keys.compactMap { key in columns.firstIndex { $0.key == key } }
    return Grid(
      columns: places.map { columns[$0] }, summary: summary.map { row in places.map { row[$0] } },
      rows: rows.map { row in places.map { row[$0] } })
  }

  /// The places of the rows in the order of a column; equal ones stay as they are.
  func order(by key: String?) -> [Int] {
    guard let key, let column = columns.firstIndex(where: { $0.key == key }) else { return Array(rows.indices) }
    return Self.order(of: rows.map { $0[column] }, down: columns[column].sortsDown)
  }

  /// The places of the cells in their order.
  static func order(of cells: [Cell], down: Bool) -> [Int] {
    cells.indices.sorted { left, right in
      cells[left].isBefore(cells[right], down: down) ?? (left < right)
    }
  }

  func tableLines(style: TextStyle) -> [String] {
    var table = TextTable(
      columns: columns.map { .init(title: $0.title, isNumber: $0.isNumber, canShrink: $0.canShrink) })
    table.summary = summary.map { $0.map(\.text) }
    table.rows = rows.map { $0.map(\.text) }
    return table.lines(style: style)
  }

  /// RFC 4180 with a line of keys first. Summary rows are left out: a reader of CSV adds up itself.
  func csvLines() -> [String] {
    [columns.map(\.key).joined(separator: ",")]
      + rows.map { row in row.map(Self.csv).joined(separator: ",") }
  }

  /// Names come out of the program: one that a spreadsheet would take for a formula (`+ infix(_:_:)` is a Swift function) gets
  /// an apostrophe before it. A serial is none, nor is a lone minus.
  private static func csv(_ cell: Cell) -> String {
    guard case .word(let text) = cell, let first = text.unicodeScalars.first,
      "=+-@\t\r\n".unicodeScalars.contains(first), text != "-",
      first != "@" || text.dropFirst().isEmpty || !text.dropFirst().allSatisfy({ $0.isASCII && $0.isNumber })
    else { return quoted(cell.raw) }
    return quoted("'" + text)
  }

  func markdownLines() -> [String] {
    let head = "| " + columns.map(\.title).joined(separator: " | ") + " |"
    let rule = "|" + columns.map { $0.isNumber ? "--:|" : "---|" }.joined()
    let body = (summary + rows).map { row in
      "| "
        + row.map { $0.text.replacing("\\", with: "\\\\").replacing("|", with: "\\|").replacing("<", with: "\\<") }
        .joined(separator: " | ") + " |"
    }
    return [head, rule] + body
  }

  private static func quoted(_ text: String) -> String {
    // By scalars: to a Character, CR LF is neither, and a quote with an accent is no quote.
    guard text.unicodeScalars.contains(where: { ",\"\n\r".unicodeScalars.contains($0) }) else { return text }
    return "\"" + text.unicodeScalars.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
  }
}
