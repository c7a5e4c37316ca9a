// Writes the page's data: JSON in columns, harmless inside an HTML document. Used by PageReport's sections.

/// JSON as bytes. No text in it can end the element that it stands in: `<`, `>` and `&` are escaped.
struct PageText {
  private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// A member whose value `body` writes.
  mutating func member(_ key: String, _ body: (inout PageText) -> Void) {
    begin(key)
    body(&self)
    needsComma = true
  }

  /// `{…}`: with `key` a member, else an element of a list.
  mutating func object(_ key: String? = nil, _ body: (inout PageText) -> Void) { nested(key, "{", "}", body) }

  /// `[…]`.
  mutating func list(_ key: String? = nil, _ body: (inout PageText) -> Void) { nested(key, "[", "]", body) }

  private mutating func nested(_ key: String?, _ open: String, _ close: String, _ body: (inout PageText) -> Void) {
    begin(key)
    bytes += open.utf8
    needsComma = false
    body(&self)
    bytes += close.utf8
    needsComma = true
  }

  mutating func number(_ key: String? = nil, _ value: Int64) {
    begin(key)
    digits(value)
    needsComma = true
  }

  mutating func number(_ key: String? = nil, _ value: Int) { number(key, Int64(value)) }

  /// Numbers that may not be known.
  mutating func number(_ key: String? = nil, _ value: Int64?) {
    if let value { number(key, value) } else { null(key) }
  }

  mutating func bool(_ key: String? = nil, _ value: Bool) {
    begin(key)
    bytes += (value ? "true" : "false").utf8
    needsComma = true
  }

  mutating func null(_ key: String? = nil) {
    begin(key)
    bytes += "null".utf8
    needsComma = true
  }

  mutating func string(_ key: String? = nil, _ value: String) {
    begin(key)
    quote(value)
    needsComma = true
  }

  mutating func string(_ key: String? = nil, _ value: String?) {
    if let value { string(key, value) } else { null(key) }
  }

  mutating func strings(_ key: String? = nil, _ values: [String]) {
    list(key) { list in for value in values { list.string(nil, value) } }
  }

  /// A column of numbers.
  mutating func column(_ key: String, _ values: some Sequence<Int64>) {
    begin(key)
    bytes.append(UInt8(ascii: "["))
    var isFirst = true
    for value in values {
      if !isFirst { bytes.append(UInt8(ascii: ",")) }
      isFirst = false
      digits(value)
    }
    bytes.append(UInt8(ascii: "]"))
    needsComma = true
  }

  mutating func column(_ key: String, _ values: some Sequence<Int>) { column(key, values.lazy.map { Int64($0) }) }

  /// A column of numbers that mostly rise, as the differences between neighbours: the viewer sums them up.
  mutating func rising(_ key: String, _ values: some Sequence<Int64>) {
    var before: Int64 = 0
    column(
      key,
      values.map { value in
        defer { before = value }
        return value &- before
      })
  }

  private mutating func begin(_ key: String?) {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    needsComma = false
    guard let key else { return }
    quote(key)
    bytes.append(UInt8(ascii: ":"))
  }

  private mutating func digits(_ value: Int64) {
    if (0..<10).contains(value) { bytes.append(UInt8(ascii: "0") &+ UInt8(value)) } else { bytes += String(value).utf8 }
  }

  private mutating func quote(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    defer { bytes.append(UInt8(ascii: "\"")) }
    // Nearly every text needs nothing. 0xe2 begins U+2028 and U+2029, which end a line in older JavaScript.
    let needsCare = text.utf8.contains { $0 < 0x20 || $0 == 0x7f || $0 == 0xe2 || Self.special.contains($0) }
    guard needsCare else {
      bytes += text.utf8
      return
    }
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x22, 0x5c: bytes += [UInt8(ascii: "\\"), UInt8(scalar.value)]
      case 0..<0x20, 0x7f, 0x26, 0x3c, 0x3e, 0x2028, 0x2029: escape(UInt16(scalar.value))
      default: bytes += String(scalar).utf8
      }
    }
  }

  /// `"`, `&`, `<`, `>`, and the backslash.
  private static let special: [UInt8] = [0x22, 0x26, 0x3c, 0x3e, 0x5c]

  private mutating func escape(_ unit: UInt16) {
    let digits = String(unit, radix: 16)
    bytes += ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8
  }
}
