// The nearest known word to one that is not known. Used by UsageError's throwers, by reports for types, marks and pids.

enum Suggestion {
  /// The known word with the fewest edits, if it is near enough to be what was meant.
  static func nearest(to word: String, among known: [String]) -> String? {
    let limit = max(2, word.count / 3)
    var best: (word: String, distance: Int)?
    for candidate in known {
      let distance = edits(Array(word.lowercased().utf8), Array(candidate.lowercased().utf8))
      if distance <= limit, distance < best?.distance ?? Int.max { best = (candidate, distance) }
    }
    return best?.word
  }

  /// Insertions, removals and replacements between two words, a swap of neighbours counted as one.
  static func edits(_ from: [UInt8], _ to: [UInt8]) -> Int {
    var before = [Int]()
    var previous = Array(0...to.count)
    for row in 0..<from.count {
      var current = [row + 1]
      for column in 0..<to.count {
        let change = from[row] == to[column] ? 0 : 1
        var least = min(previous[column] + change, previous[column + 1] + 1, current[column] + 1)
        if row > 0, column > 0, from[row] == to[column - 1], from[row - 1] == to[column] {
          least = min(least, before[column - 1] + 1)
        }
        current.append(least)
      }
      before = previous
      previous = current
    }
    return previous.last ?? from.count
  }
}
