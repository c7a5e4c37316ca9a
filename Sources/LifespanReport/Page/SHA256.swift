// SHA-256, by which the page's own code is named in its content security policy: nothing else may run in it. (The toolchain's
// Foundation has none on Linux.)

/// FIPS 180-4.
enum SHA256 {
  private static let constants: [UInt32] = fractions(of: primes(64), root: 3)
  private static let initial: [UInt32] = fractions(of: primes(8), root: 2)

  /// The digest of some bytes.
  static func digest(of message: some Sequence<UInt8>) -> [UInt8] {
    var bytes = Array(message)
    let bits = UInt64(bytes.count) * 8
    bytes.append(0x80)
    while bytes.count % 64 != 56 { bytes.append(0) }
    bytes += (0..<8).reversed().map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) }
    var state = initial
    for start in stride(from: 0, to: bytes.count, by: 64) { compress(bytes[start..<start + 64], into: &state) }
    return state.flatMap { word in (0..<4).reversed().map { UInt8(truncatingIfNeeded: word >> (8 * UInt32($0))) } }
  }

  private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
    var words = [UInt32](repeating: 0, count: 64)
    for (index, byte) in block.enumerated() { words[index / 4] = words[index / 4] << 8 | UInt32(byte) }
    for index in 16..<64 {
      let early = words[index - 15]
      let late = words[index - 2]
      let one = rotate(early, 7) ^ rotate(early, 18) ^ early >> 3
      let two = rotate(late, 17) ^ rotate(late, 19) ^ late >> 10
      words[index] = words[index - 16] &+ one &+ words[index - 7] &+ two
    }
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for index in 0..<64 {
      let high = rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)
      let one = h &+ high &+ ((e & f) ^ (~e & g)) &+ constants[index] &+ words[index]
      let low = rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)
      let two = low &+ ((a & b) ^ (a & c) ^ (b & c))
      (h, g, f, e) = (g, f, e, d &+ one)
      (d, c, b, a) = (c, b, a, one &+ two)
    }
    for (index, value) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= value }
  }

  private static func rotate(_ word: UInt32, _ bits: UInt32) -> UInt32 { word >> bits | word << (32 - bits) }

  private static func primes(_ count: Int) -> [UInt64] {
    var found: [UInt64] = []
    var next: UInt64 = 2
    while found.count < count {
      if found.allSatisfy({ next % $0 != 0 }) { found.append(next) }
      next += 1
    }
    return found
  }

  /// The first 32 bits behind the point of the primes' roots, which the standard takes its constants from: the largest number
  /// whose square or cube is not beyond the prime, scaled.
  private static func fractions(of primes: [UInt64], root: Int) -> [UInt32] {
    primes.map { prime in
      var low: UInt64 = 0
      var high: UInt64 = 32 << 32
      while high - low > 1 {
        let middle = (low + high) / 2
        if isBeyond(middle, prime, root) { high = middle } else { low = middle }
      }
      return UInt32(truncatingIfNeeded: low)
    }
  }

  private static func isBeyond(_ scaled: UInt64, _ prime: UInt64, _ root: Int) -> Bool {
    let square = scaled.multipliedFullWidth(by: scaled)
    // The square has 64 bits behind the point, so its high word is the whole part.
    if root == 2 { return square.high >= prime }
    // Of the cube 96 bits lie behind the point; the square's 32 lowest are carried along.
    let top = square.high.multipliedFullWidth(by: scaled)
    let rest = square.low.multipliedFullWidth(by: scaled)
    let (middle, carries) = top.low.addingReportingOverflow(rest.high)
    let whole = (top.high + (carries ? 1 : 0)) << 32 | middle >> 32
    return whole >= prime
  }
}
