// Which types a recording was restricted to, out of the options of `record`. Said by every report: what was left out is in no
// count.

extension TraceInformation {
  /// `--record 'Leak.*' --ignore 'Leak.Cache'` as typed, or that only tracked types were recorded; nil where all were.
  public var recordedTypes: String? {
    var words: [String] = []
    var takesNext = false
    for word in Self.shellWords(options) {
      let isRule = !takesNext && (word == "--record" || word == "--ignore")
      if isRule || takesNext { words.append(word) }
      takesNext = isRule
    }
    if info["recording"] == "tracked" { words.insert("tracked types and tokens", at: 0) }
    return words.isEmpty ? nil : words.joined(separator: " ")
  }

  /// The words of a command line with their quotes.
  private static func shellWords(_ line: String) -> [String] {
    var words: [String] = []
    var word = ""
    var isQuoted = false
    var isEscaped = false
    for character in line {
      if character == " ", !isQuoted, !isEscaped {
        if !word.isEmpty { words.append(word) }
        word = ""
        continue
      }
      if character == "'", !isEscaped { isQuoted.toggle() }
      isEscaped = character == "\\" && !isQuoted && !isEscaped
      word.append(character)
    }
    return word.isEmpty ? words : words + [word]
  }
}
