// What must hold of any report, whatever the trace says: JSON parses, text has no control characters. Used by
// Reader.swift.

enum Checks {
  /// Ends the fuzzer with a finding.
  static func require(_ holds: Bool, _ what: @autoclosure () -> String) {
    if !holds { fatalError("broken: \(what())") }
  }

  /// Names in a trace are the recorded program's: no line of a report may speak to the terminal.
  static func text(_ text: String) {
    for scalar in text.unicodeScalars {
      let speaks = (scalar.value < 0x20 && scalar != "\n") || (0x7f...0x9f).contains(scalar.value)
      require(!speaks, "a control character in a text: \(text.debugDescription)")
    }
    require(text.isEmpty || text.hasSuffix("\n"), "a text without a last newline: \(text.debugDescription)")
  }

  static func json(_ text: String) { json(Array(text.utf8)) }

  static func json(_ text: [UInt8]) {
    var parser = JSONParser(text)
    let good = parser.document()
    require(good, "no JSON at byte \(parser.position): \(String(decoding: text, as: UTF8.self))")
  }
}

/// Says whether bytes are one JSON document of RFC 8259.
struct JSONParser {
  private let text: [UInt8]
  private(set) var position = 0

  init(_ text: [UInt8]) { self.text = text }

  mutating func document() -> Bool {
    let good = value(depth: 0)
    skip()
    return good && position == text.count
  }

  private mutating func skip() {
    while position < text.count, [0x20, 0x0a, 0x0d, 0x09].contains(text[position]) { position += 1 }
  }

  private mutating func take(_ byte: Character) -> Bool {
    guard position < text.count, text[position] == byte.asciiValue else { return false }
    position += 1
    return true
  }

  private mutating func word(_ word: String) -> Bool {
    guard text[position...].starts(with: word.utf8) else { return false }
    position += word.utf8.count
    return true
  }

  private mutating func value(depth: Int) -> Bool {
    skip()
    guard position < text.count, depth < 64 else { return false }
    switch Character(UnicodeScalar(text[position])) {
    case "{": return list("}") { $0.pair(depth: depth + 1) }
    case "[": return list("]") { $0.value(depth: depth + 1) }
    case "\"": return string()
    case "t": return word("true")
    case "f": return word("false")
    case "n": return word("null")
    default: return number()
    }
  }

  private mutating func list(_ end: Character, _ element: (inout JSONParser) -> Bool) -> Bool {
    position += 1
    skip()
    if take(end) { return true }
    while true {
      guard element(&self) else { return false }
      skip()
      if take(end) { return true }
      guard take(",") else { return false }
    }
  }

  private mutating func pair(depth: Int) -> Bool {
    skip()
    guard string() else { return false }
    skip()
    return take(":") && value(depth: depth)
  }

  private mutating func string() -> Bool {
    guard take("\"") else { return false }
    while position < text.count {
      let byte = text[position]
      position += 1
      if byte == UInt8(ascii: "\"") { return true }
      if byte < 0x20 { return false }
      guard byte == UInt8(ascii: "\\") else { continue }
      guard position < text.count else { return false }
      let escape = text[position]
      position += 1
      if escape == UInt8(ascii: "u") {
        let digits = text[position...].prefix(4)
        guard digits.count == 4, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }) else { return false }
        position += 4
      } else if !"\"\\/bfnrt".utf8.contains(escape) {
        return false
      }
    }
    return false
  }

  private mutating func number() -> Bool {
    _ = take("-")
    if !take("0") {
      guard digits() else { return false }
    }
    if take("."), !digits() { return false }
    if take("e") || take("E") {
      if !take("+") { _ = take("-") }
      return digits()
    }
    return true
  }

  private mutating func digits() -> Bool {
    let start = position
    while position < text.count, (48...57).contains(text[position]) { position += 1 }
    return position > start
  }
}
