// A JSON document whose keys keep their order. Built by the JSON renderers and by the command's own `--json` output.

/// A JSON value.
public indirect enum JSONValue: Equatable, Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A whole number that may be negative.
  case integer(Int64)
  /// A whole number.
  case unsigned(UInt64)
  /// A number with up to three decimals, in thousandths.
  case thousandths(Int64)
  /// A text.
  case string(String)
  /// A list.
  case array([JSONValue])
  /// Keys and values, in the order in which they are written.
  case object([Member])

  /// One key and its value.
  public struct Member: Equatable, Sendable {
    let key: String
    let value: JSONValue
  }

  /// An object of these pairs, in this order.
  public static func pairs(_ pairs: KeyValuePairs<String, JSONValue>) -> JSONValue {
    .object(pairs.map { Member(key: $0.key, value: $0.value) })
  }

  /// A text or `null`.
  public static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
  /// A whole number or `null`.
  public static func optional(_ number: UInt64?) -> JSONValue { number.map { .unsigned($0) } ?? .null }
  /// A whole number or `null`.
  public static func optional(_ number: Int?) -> JSONValue { number.map { .integer(Int64($0)) } ?? .null }

  /// A whole number or `null`.
  public static func optional(_ number: Int64?) -> JSONValue { number.map { .integer($0) } ?? .null }

  /// Members of an object, to put before or behind others.
  var members: [Member] {
    if case .object(let members) = self { return members }
    return []
  }

  /// The document as text, ending without a newline: one element of a list of objects a line, so that `diff` and
  /// `grep` work on it.
  public var text: String { text(atDepth: 0) }

  /// The same as it stands so deep within a document; from 3 on all on one line.
  func text(atDepth depth: Int) -> String {
    var output = ""
    write(to: &output, depth: depth)
    return output
  }

  private func write(to output: inout String, depth: Int) {
    switch self {
    case .null: output += "null"
    case .bool(let value): output += value ? "true" : "false"
    case .integer(let value): output += String(value)
    case .unsigned(let value): output += String(value)
    case .thousandths(let value): output += Units.thousandths(value).filter { $0 != "," }
    case .string(let value): Self.write(value, to: &output)
    case .array(let values):
      let breaks = depth < 3 && values.contains { if case .object = $0 { true } else { false } }
      Self.list(values, open: "[", close: "]", breaks: breaks, depth: depth, to: &output) { value, output in
        value.write(to: &output, depth: breaks ? depth + 1 : .max)
      }
    case .object(let members):
      let breaks = depth == 0 || (depth < 3 && members.contains { $0.value.isListOfObjects })
      Self.list(members, open: "{", close: "}", breaks: breaks, depth: depth, to: &output) { member, output in
        Self.write(member.key, to: &output)
        output += ":"
        member.value.write(to: &output, depth: breaks ? depth + 1 : .max)
      }
    }
  }

  private var isListOfObjects: Bool {
    guard case .array(let values) = self, case .object = values.first else { return false }
    return true
  }

  private static func list<Element>(
    _ elements: [Element], open: String, close: String, breaks: Bool, depth: Int, to output: inout String,
    _ body: (Element, inout String) -> Void
  ) {
    output += open
    let indent = breaks ? "\n" + String(repeating: " ", count: depth + 1) : ""
    for (index, element) in elements.enumerated() {
      if index > 0 { output += "," }
      output += indent
      body(element, &output)
    }
    if breaks, !elements.isEmpty { output += "\n" + String(repeating: " ", count: depth) }
    output += close
  }

  private static func write(_ text: String, to output: inout String) {
    output += "\""
    defer { output += "\"" }
    // Nearly every text needs nothing.
    let needsCare = text.utf8.contains { $0 < 0x20 || $0 == 0x22 || $0 == 0x5c || $0 == 0x7f }
    guard needsCare else {
      output += text
      return
    }
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": output += "\\\""
      case "\\": output += "\\\\"
      case "\n": output += "\\n"
      case "\t": output += "\\t"
      case "\r": output += "\\r"
      case _ where scalar.value < 0x20 || scalar.value == 0x7f:
        let digits = String(scalar.value, radix: 16)
        output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: output.unicodeScalars.append(scalar)
      }
    }
  }
}
