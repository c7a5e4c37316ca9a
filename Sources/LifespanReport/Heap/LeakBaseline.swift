// The leaks that are known: a file of fingerprints, which a team keeps beside its code. Read and written by the command.

/// Known leaks by their fingerprints.
public struct LeakBaseline: Sendable, Equatable {
  /// Each with what it was when it was written down.
  public var known: [String: String]

  /// None.
  public init(known: [String: String] = [:]) { self.known = known }

  /// Parses a file: a fingerprint a line, then ` # ` and what it is. Lines that begin with # are comments; nil with the number
  /// of the line that is neither.
  public static func parse(_ text: String) -> (baseline: LeakBaseline, badLine: Int?) {
    var known: [String: String] = [:]
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
      let parts = line.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
      let fingerprint = parts[0].filter { $0 != " " && $0 != "\t" && $0 != "\r" }
      if fingerprint.isEmpty { continue }
      guard fingerprint.count == 16, fingerprint.allSatisfy({ $0.isHexDigit }) else {
        return (LeakBaseline(known: known), index + 1)
      }
      known[fingerprint] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
    }
    return (LeakBaseline(known: known), nil)
  }

  /// The file's text: sorted, so that two versions of it can be compared.
  public var text: String {
    let head =
      "# Known leaks, by fingerprint, as lifespan leaks --update-baseline wrote them. Lines may be taken out.\n"
    return head + known.sorted { $0.key < $1.key }.map { "\($0.key) # \($0.value.printable)\n" }.joined()
  }
}
