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

  /// The lines of a report as one text: whatever name stands in them, none but our own sequences reach the terminal.
  func text(_ lines: [String]) -> String {
    lines.map { usesColor ? Self.decorated($0) : $0.printable }.joined(separator: "\n") + "\n"
  }

  private static let ends = "\u{1b}[0m"
  private static let begins = ["1", "2", "33"].map { "\u{1b}[\($0)m" }

  private func wrap(_ text: String, _ code: String) -> String {
    usesColor && !text.isEmpty ? "\u{1b}[\(code)m\(text)\(Self.ends)" : text
  }

  /// A line that may be decorated, printable between its decorations.
  private static func decorated(_ line: String) -> String {
    guard let begin = begins.first(where: line.hasPrefix), line.hasSuffix(ends) else { return line.printable }
    return begin + String(line.dropFirst(begin.count).dropLast(ends.count)).printable + ends
  }
}

extension String {
  /// As a line of a report or a message shows it: control characters, and those that turn the direction of a line, as Swift writes them.
  /// Names of marks, types, functions and files are the recorded program's: they must neither break a line nor speak to the terminal.
  public var printable: String {
    guard unicodeScalars.contains(where: \.speaksToTerminal) else { return self }
    return unicodeScalars.map { $0.speaksToTerminal ? $0.escaped(asASCII: true) : String($0) }.joined()
  }
}

extension Unicode.Scalar {
  fileprivate var speaksToTerminal: Bool {
    switch value {
    case 0..<0x20, 0x7f...0x9f, 0x200e...0x200f, 0x2028...0x202e, 0x2066...0x2069: return true
    default: return false
    }
  }
}
