// Suppressions of leaks, in the format of LeakSanitizer: `leak:PATTERN`, and comments, which give the reason.
// Read by the command, held against each leak by LeaksReport.
import LifespanAnalysis

/// Rules that take leaks out of a report.
public struct Suppressions: Sendable, Equatable {
  /// One rule.
  public struct Rule: Sendable, Equatable {
    /// What a type, function, file or module must match.
    public var pattern: String
    /// Why; empty where none is given.
    public var reason: String
    /// The line in the file.
    public var line: Int
  }

  /// A line that is no rule.
  public struct Problem: Error, Sendable, Equatable, CustomStringConvertible {
    /// Which line.
    public var line: Int
    /// What is wrong with it.
    public var what: String
    /// One line.
    public var description: String { "line \(line): \(what)" }
  }

  /// In the order of the file.
  public var rules: [Rule]

  /// None.
  public init() { rules = [] }

  /// Parses a file. A reason stands behind ` #` on the line of the rule, or in the comment right above it.
  public init(_ text: String) throws(Problem) {
    rules = []
    var above: [String] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let trimmed = Suppressions.trimmed(line)
      if trimmed.hasPrefix("#") {
        above.append(Suppressions.trimmed(trimmed.drop { $0 == "#" }))
        continue
      }
      defer { above = [] }
      if trimmed.isEmpty { continue }
      let parts = trimmed.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, parts[0] == "leak" else {
        throw Problem(line: index + 1, what: "expected leak:PATTERN, then # and a reason")
      }
      let rest = parts[1].split(separator: " #", maxSplits: 1, omittingEmptySubsequences: false)
      let pattern = Suppressions.trimmed(rest[0])
      guard !pattern.isEmpty else { throw Problem(line: index + 1, what: "leak: has no pattern behind it") }
      let reason = rest.count > 1 ? Suppressions.trimmed(rest[1]) : above.joined(separator: " ")
      rules.append(Rule(pattern: pattern, reason: reason, line: index + 1))
    }
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    let blanks: Set<Character> = [" ", "\t", "\r"]
    return String(text.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
  }

  /// The first rule that one of the texts matches.
  public func rule(for texts: [String]) -> Int? {
    rules.firstIndex { rule in texts.contains { Suppressions.matches(rule.pattern, $0) } }
  }

  /// LeakSanitizer's patterns: a part of the text, `*` for anything, `^` and `$` for its ends.
  static func matches(_ pattern: String, _ text: String) -> Bool {
    var pattern = pattern[...]
    let isBegin = pattern.hasPrefix("^")
    if isBegin { pattern = pattern.dropFirst() }
    let isEnd = pattern.hasSuffix("$")
    if isEnd { pattern = pattern.dropLast() }
    return Glob.matches((isBegin ? "" : "*") + pattern + (isEnd ? "" : "*"), text)
  }
}
