// The written forms of TIME, BYTES and SERIAL on the command line. Used by the subcommands' option parsing.

/// Parsers of values; each gives nil for what it does not take.
enum ValueParser {
  static let timeForm = "a time with its unit, e.g. 12.5s, 850ms, 2m"
  static let bytesForm = "a number of bytes, e.g. 65536, 64K, 1M, 2G"

  private static let timeUnits: [(suffix: String, nanoseconds: Double)] = [
    ("ns", 1), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("m", 60e9), ("h", 3600e9),
  ]
  private static let byteUnits: [(suffix: String, shift: UInt64)] = [
    ("K", 10), ("M", 20), ("G", 30), ("T", 40), ("", 0),
  ]

  /// Nanoseconds since the start of `12.5s`, `850ms`, `2m`. The unit must be there.
  static func time(_ text: String) -> UInt64? {
    for unit in timeUnits where text.hasSuffix(unit.suffix) {
      let digits = text.dropLast(unit.suffix.count)
      guard isDecimal(digits), let number = Double(digits) else { continue }
      let nanoseconds = (number * unit.nanoseconds).rounded()
      return nanoseconds < Double(UInt64.max) ? UInt64(nanoseconds) : nil
    }
    return nil
  }

  /// Bytes of `65536`, `64K`, `64KB`, `64KiB`, `1M`; units are powers of 1,024.
  static func bytes(_ text: String) -> UInt64? {
    var short = text.uppercased()
    for ending in ["IB", "B"] where short.hasSuffix(ending) {
      short.removeLast(ending.count)
      break
    }
    for unit in byteUnits where short.hasSuffix(unit.suffix) {
      guard let number = count(String(short.dropLast(unit.suffix.count))) else { continue }
      let (bytes, overflow) = number.multipliedReportingOverflow(by: 1 << unit.shift)
      return overflow ? nil : bytes
    }
    return nil
  }

  /// The number of `@12`; 0 is no object's number.
  static func serial(_ text: String) -> UInt64? {
    guard text.hasPrefix("@"), let number = count(String(text.dropFirst())), number > 0 else { return nil }
    return number
  }

  /// A plain decimal number: no sign, no spaces.
  static func count(_ text: String) -> UInt64? {
    text.utf8.allSatisfy { (48...57).contains($0) } ? UInt64(text) : nil
  }

  private static func isDecimal(_ text: Substring) -> Bool {
    guard let first = text.utf8.first, (48...57).contains(first) else { return false }
    return text.utf8.filter { $0 == 46 }.count <= 1 && text.utf8.allSatisfy { (48...57).contains($0) || $0 == 46 }
  }
}
