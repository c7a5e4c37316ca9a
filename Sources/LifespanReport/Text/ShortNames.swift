// Names that are too long for their place: which part is left out, and that no two of a table become one. Used by TextTable
// and StackText.

/// Shortens names.
enum ShortNames {
  /// Long names lose their middle: module and last component are what tells them apart.
  static func shortened(_ text: String, to width: Int) -> String {
    shortened(text, to: width, head: width / 2)
  }

  /// The same with so many characters before the gap.
  private static func shortened(_ text: String, to width: Int, head: Int) -> String {
    guard text.count > width, width > 1 else { return text }
    return String(text.prefix(head)) + "…" + String(text.suffix(width - head - 1))
  }

  /// What stands for each text that is longer than `width`. Two texts never get the same: where they would, the gap moves
  /// to a place that shows how they differ, and where there is none, they stay whole, longer than the width.
  static func unique(_ texts: some Sequence<String>, to width: Int) -> [String: String] {
    let long = Set(texts.filter { $0.count > width })
    // In an order of its own, so that the same table is the same text every time.
    var left = long.sorted()
    guard !left.isEmpty else { return [:] }
    // What stands there unshortened can't be a short form too.
    var taken = Set(texts).subtracting(long)
    var chosen: [String: String] = [:]
    for head in heads(width) {
      let forms = left.map { shortened($0, to: width, head: head) }
      let uses = forms.reduce(into: [:]) { $0[$1, default: 0] += 1 }
      var clashing: [String] = []
      for (text, form) in zip(left, forms) {
        if uses[form] == 1, taken.insert(form).inserted {
          chosen[text] = form
        } else {
          clashing.append(text)
        }
      }
      left = clashing
    }
    for text in left { chosen[text] = text }
    return chosen
  }

  /// Where the gap may be: in the middle, then wherever else, in steps that no difference of a few characters fits between.
  private static func heads(_ width: Int) -> [Int] {
    let step = max(1, width / 16)
    return [width / 2] + stride(from: width - 2, through: 1, by: -step)
  }
}
