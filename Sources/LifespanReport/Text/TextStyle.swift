// Colour, or its absence, and the width of a terminal line. Passed to every text renderer.

/// How text is decorated.
public struct TextStyle: Sendable {
  /// Characters in a line, at most.
  public static let width = 100

  /// Whether escape sequences are written.
  public let usesColor: Bool

  /// A style with or without colour.
  public init(usesColor: Bool = false) { self.usesColor = usesColor }

  func heading(_ text: String) -> String { wrap(text, "1") }
  func summary(_ text: String) -> String { wrap(text, "2") }
  func warning(_ text: String) -> String { wrap(text, "33") }

  private func wrap(_ text: String, _ code: String) -> String {
    usesColor && !text.isEmpty ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
  }
}
