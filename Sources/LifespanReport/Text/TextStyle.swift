// Colour, or its absence, and the width of a terminal line. Passed to every text renderer.

/// How text is decorated.
public struct TextStyle: Sendable {
  /// Characters in a line, at most, where no terminal is wider.
  public static let usualWidth = 100

  /// Whether escape sequences are written.
  public let usesColor: Bool
  /// Characters in a line, at most.
  public let width: Int

  /// A style with or without colour, for a terminal of so many columns; a narrow one gets the usual width.
  public init(usesColor: Bool = false, terminalWidth: Int? = nil) {
    self.usesColor = usesColor
    width = max(Self.usualWidth, terminalWidth ?? 0)
  }

  func heading(_ text: String) -> String { wrap(text, "1") }
  func summary(_ text: String) -> String { wrap(text, "2") }

  /// A sentence that a reader must see, over as many lines as it takes.
  func warning(_ sentence: String) -> [String] { Self.wrapped(sentence, to: width).map { wrap($0, "33") } }

  /// A sentence as lines that fit, all but the first indented.
  public static func wrapped(_ sentence: String, to width: Int = usualWidth) -> [String] {
    var lines: [String] = []
    for word in sentence.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append((lines.isEmpty ? "" : "  ") + word)
      }
    }
    return lines
  }

  private func wrap(_ text: String, _ code: String) -> String {
    usesColor && !text.isEmpty ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
  }
}
