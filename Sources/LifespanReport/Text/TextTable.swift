// Columns of text that fit a line: numbers right, words left, the last column takes what is left. Used by the renderers.

/// A table of text. Rows before `summaryRows` are set apart by a line of dashes below them.
struct TextTable {
  struct Column {
    let title: String
    var isNumber = true
    /// Names give way when the line is too long; numbers never do.
    var canShrink = false
  }

  let columns: [Column]
  var summary: [[String]] = []
  var rows: [[String]] = []

  func lines(style: TextStyle) -> [String] {
    let limit = style.width
    let widths = self.widths(limit: limit)
    let short = self.short(widths)
    var lines = [style.heading(line(columns.map(\.title), widths, short))]
    lines += summary.map { style.summary(line($0, widths, short)) }
    if !summary.isEmpty, !rows.isEmpty {
      lines.append(String(repeating: "-", count: min(limit, widths.reduce(0, +) + 2 * (widths.count - 1))))
    }
    return lines + rows.map { line($0, widths, short) }
  }

  private func widths(limit: Int) -> [Int] {
    var widths = columns.indices.map { index in
      ([columns[index].title] + (summary + rows).map { index < $0.count ? $0[index] : "" }).map(\.count).max() ?? 0
    }
    var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - limit
    // The widest column gives first, so that a short name stays whole beside a long one.
    while excess > 0 {
      let shrinkable = widths.indices.filter { columns[$0].canShrink && widths[$0] > 12 }
      guard let widest = shrinkable.max(by: { widths[$0] < widths[$1] }) else { break }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }

  /// Of each column the names that are too long for it, and what stands in their place.
  private func short(_ widths: [Int]) -> [[String: String]] {
    columns.indices.map { index in
      guard columns[index].canShrink else { return [:] }
      return ShortNames.unique((summary + rows).lazy.map { index < $0.count ? $0[index] : "" }, to: widths[index])
    }
  }

  private func line(_ cells: [String], _ widths: [Int], _ short: [[String: String]]) -> String {
    var text = ""
    for index in columns.indices {
      let whole = index < cells.count ? cells[index] : ""
      let cell = short[index][whole] ?? whole
      let padding = String(repeating: " ", count: max(0, widths[index] - cell.count))
      if index > 0 { text += "  " }
      text += columns[index].isNumber ? padding + cell : cell + padding
    }
    while text.hasSuffix(" ") { text.removeLast() }
    return text
  }
}
