// The names nearest to one that isn't there. Used for types and marks in QuestionError, for generations by the command, and
// (the distance alone) for words of its command line.
import LifespanTrace

/// Suggestions for a name that is not known.
public enum Nearest {
  /// Up to `limit` of the names, the one with the least edits first. Names that share nothing with it are left out.
  /// A name also counts by its last components, so that `Node` finds `App.Node`.
  public static func names(to wanted: String, among names: some Sequence<String>, limit: Int = 3) -> [String] {
    let plain = Array(wanted.lowercased().filter { $0 != "*" }.utf8.prefix(256))
    guard !plain.isEmpty else { return Array(Set(names).sorted().prefix(limit)) }
    var found: [(edits: Int, name: String)] = []
    for name in Set(names) {
      let whole = name.lowercased()
      let last = whole.split(separator: ".").last.map(String.init) ?? whole
      let edits = min(distance(plain, Array(whole.utf8.prefix(256))), distance(plain, Array(last.utf8.prefix(256))))
      // More than two thirds changed is another word.
      if edits * 3 <= plain.count * 2 || whole.contains(String(decoding: plain, as: UTF8.self)) {
        found.append((edits, name))
      }
    }
    return found.sorted { ($0.edits, $0.name) < ($1.edits, $1.name) }.prefix(limit).map(\.name)
  }

  /// Number of insertions, deletions, replacements and swaps of neighbours between two words, byte by byte. Costs the
  /// product of their lengths.
  public static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    var before = [Int](repeating: 0, count: other.count + 1)
    var row = Array(0...other.count)
    for (i, left) in one.enumerated() {
      var next = [i + 1] + row.dropFirst()
      for (j, right) in other.enumerated() {
        next[j + 1] = min(row[j + 1] + 1, next[j] + 1, row[j] + (left == right ? 0 : 1))
        if i > 0, j > 0, left == other[j - 1], right == one[i - 1] { next[j + 1] = min(next[j + 1], before[j - 1] + 1) }
      }
      before = row
      row = next
    }
    return row[other.count]
  }
}
