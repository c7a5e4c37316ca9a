// Names of generations whose mark has none: A, B, … Z, AA. Used by SessionServer for the answer to `mark`.

enum GenerationLetters {
  static func name(_ number: UInt64) -> String {
    var letters: [UInt8] = []
    var rest = number
    while true {
      letters.append(UInt8(65 + rest % 26))
      if rest < 26 { return String(decoding: letters.reversed(), as: UTF8.self) }
      rest = rest / 26 - 1
    }
  }
}
