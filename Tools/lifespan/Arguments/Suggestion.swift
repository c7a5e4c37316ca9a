// The nearest known word to an option or a command that is not known. Used by ArgumentParser and CommandTable. (Names in a
// recording are suggested by LifespanAnalysis.)
import LifespanAnalysis

enum Suggestion {
  /// The known word with the fewest edits, if it is near enough to be what was meant.
  static func nearest(to word: String, among known: [String]) -> String? {
    let limit = max(2, word.count / 3)
    var best: (word: String, distance: Int)?
    for candidate in known {
      let distance = Nearest.distance(Array(word.lowercased().utf8), Array(candidate.lowercased().utf8))
      if distance <= limit, distance < best?.distance ?? Int.max { best = (candidate, distance) }
    }
    return best?.word
  }
}
