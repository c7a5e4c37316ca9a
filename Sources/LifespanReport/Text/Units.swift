// The one place where numbers get separators, bytes their units and times their seconds. Used by every text renderer and
// by the command's own lines.

/// Writes numbers as a person reads them. Integer arithmetic only: the same value gives the same text everywhere.
public enum Units {
  /// `1,204,331`.
  private static func digits(_ value: UInt64) -> String {
    let characters = Array(String(value))
    var text = ""
    for (index, digit) in characters.enumerated() {
      if index > 0, (characters.count - index) % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return text
  }

  /// `-1,204` and `1,204`.
  public static func count(_ value: Int64) -> String {
    (value < 0 ? "-" : "") + digits(value.magnitude)
  }

  /// As for the wider type.
  public static func count(_ value: Int) -> String { count(Int64(value)) }
  /// Numbers without a sign.
  public static func count(_ value: UInt64) -> String { digits(value) }

  /// `1 object`, `2 objects`: for things whose plural is an s.
  public static func things(_ value: Int, _ thing: String) -> String { things(UInt64(clamping: value), thing) }
  /// Numbers without a sign.
  public static func things(_ value: UInt64, _ thing: String) -> String {
    "\(count(value)) \(thing)" + (value == 1 ? "" : "s")
  }

  /// `+1,204`, `-12`, `0`.
  public static func signed(_ value: Int64) -> String {
    (value > 0 ? "+" : "") + count(value)
  }

  /// `960 B`, `12.06 KiB`, `3.10 GiB`: exact below 10,000 bytes, else two rounded decimals of a power of 1,024.
  public static func bytes(_ value: Int64) -> String {
    (value < 0 ? "-" : "") + magnitude(value.magnitude)
  }

  private static func magnitude(_ value: UInt64) -> String {
    guard value >= 10_000 else { return digits(value) + " B" }
    for (shift, unit) in [(10, "KiB"), (20, "MiB"), (30, "GiB")] {
      let hundredths = rounded(value, shift: shift)
      if hundredths < 102_400 { return decimal(hundredths, digits: 2) + " " + unit }
    }
    return decimal(rounded(value, shift: 40), digits: 2) + " TiB"
  }

  /// Thousandths as a number with as many decimals as it needs: `100`, `0.25`, `1,204.5`.
  public static func thousandths(_ value: Int64) -> String {
    let whole = count(value.magnitude / 1_000)
    var text = (value < 0 ? "-" : "") + whole
    guard value % 1_000 != 0 else { return text }
    var decimals = String(value.magnitude % 1_000 + 1_000).dropFirst()
    while decimals.last == "0" { decimals.removeLast() }
    text += "." + decimals
    return text
  }

  /// Seconds with three decimals: `12.400 s`.
  public static func seconds(_ nanoseconds: Int64) -> String {
    (nanoseconds <= -500_000 ? "-" : "") + decimal((nanoseconds.magnitude + 500_000) / 1_000_000, digits: 3) + " s"
  }

  /// Seconds with one decimal, for what goes on: `12.4 s`. Not rounded: a moment that has not come is not shown.
  public static func tenths(_ nanoseconds: Int64) -> String {
    (nanoseconds <= -100_000_000 ? "-" : "") + decimal(nanoseconds.magnitude / 100_000_000, digits: 1) + " s"
  }

  /// Seconds with six decimals, for the moments of single events: `0.012345 s`.
  public static func moment(_ nanoseconds: Int64) -> String {
    (nanoseconds <= -500 ? "-" : "") + decimal((nanoseconds.magnitude + 500) / 1_000, digits: 6) + " s"
  }

  /// `419 ns`, `12.34 µs`, `8.00 ms`, `1.234 s`: for stretches of time of any length.
  public static func duration(_ nanoseconds: Int64) -> String {
    let value = nanoseconds.magnitude
    let sign = nanoseconds < 0 ? "-" : ""
    if value < 1_000 { return "\(sign)\(value) ns" }
    if value < 999_995 { return sign + decimal((value + 5) / 10, digits: 2) + " µs" }
    if value < 999_995_000 { return sign + decimal((value + 5_000) / 10_000, digits: 2) + " ms" }
    return sign + decimal((value + 500_000) / 1_000_000, digits: 3) + " s"
  }

  private static func rounded(_ value: UInt64, shift: Int) -> UInt64 {
    let whole = value >> UInt64(shift)
    let rest = value & ((1 << UInt64(shift)) - 1)
    // The rest is below 2^40, so a hundred times it fits.
    return whole * 100 + (rest * 100 + (1 << UInt64(shift - 1))) >> UInt64(shift)
  }

  private static func decimal(_ scaled: UInt64, digits: Int) -> String {
    let base = (0..<digits).reduce(UInt64(1)) { value, _ in value * 10 }
    let fraction = String(scaled % base)
    return count(scaled / base) + "." + String(repeating: "0", count: digits - fraction.count) + fraction
  }
}
