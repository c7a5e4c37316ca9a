// Reads varints, strings and blobs out of a chunk's payload, every byte checked. Used by the row decoders and, for the
// hot columns of EVENTS, as VarintCursor.

/// What is wrong with a chunk's content. Becomes the text of `TraceEnding.Reason.damaged`.
struct Malformed: Error, Equatable {
  let what: String
  init(_ what: String) { self.what = what }
}

/// A position in bytes that somebody else keeps alive.
struct ByteReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var position = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var remaining: Int { bytes.count - position }
  var isAtEnd: Bool { position == bytes.count }

  mutating func byte() throws(Malformed) -> UInt8 {
    guard position < bytes.count else { throw Malformed("a value is cut") }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func varint() throws(Malformed) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let next = try byte()
      // The tenth byte holds the one bit that is left.
      guard shift < 63 || next <= 1 else { throw Malformed("a number is longer than 64 bits") }
      value |= UInt64(next & 0x7f) &<< shift
      if next < 0x80 { return value }
      shift += 7
    }
  }

  mutating func zigzag() throws(Malformed) -> Int64 { Int64(zigzag: try varint()) }

  /// A number that must fit a smaller type.
  mutating func number<N: FixedWidthInteger>(_ type: N.Type, _ name: StaticString) throws(Malformed) -> N {
    let value = try varint()
    guard let fitting = N(exactly: value) else { throw Malformed("\(name) \(value) is out of range") }
    return fitting
  }

  mutating func blob() throws(Malformed) -> UnsafeRawBufferPointer {
    let length = try varint()
    guard length <= UInt64(remaining) else { throw Malformed("a length of \(length) bytes passes the end") }
    let start = position
    position += Int(length)
    return UnsafeRawBufferPointer(rebasing: bytes[start..<position])
  }

  /// Invalid UTF-8 is repaired with replacement characters, as a name is shown but never trusted.
  mutating func string() throws(Malformed) -> String { String(decoding: try blob(), as: UTF8.self) }
}

extension Int64 {
  /// The signed number of a zigzag.
  @inline(__always)
  init(zigzag value: UInt64) {
    self = Int64(bitPattern: value &>> 1) ^ (0 &- Int64(bitPattern: value & 1))
  }

  /// The zigzag of the number.
  var zigzag: UInt64 { UInt64(bitPattern: (self &<< 1) ^ (self &>> 63)) }
}

/// The hot variant: no throwing, a sticky failure instead, which the caller looks at once a batch.
struct VarintCursor {
  private(set) var next: UnsafePointer<UInt8>
  private let end: UnsafePointer<UInt8>
  private(set) var failed = false

  init(_ bytes: UnsafeRawBufferPointer) {
    // An empty column has no base address: any address does, as nothing is read from it.
    let base = bytes.baseAddress ?? UnsafeRawPointer(VarintCursor.nothing)
    next = base.assumingMemoryBound(to: UInt8.self)
    end = next + bytes.count
  }

  private nonisolated(unsafe) static let nothing = UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1)

  var isAtEnd: Bool { next == end }

  /// The next number; 0 and `failed` when the column has no whole number left.
  @inline(__always)
  mutating func varint() -> UInt64 {
    if next < end {
      let first = next.pointee
      if first < 0x80 {
        next += 1
        return UInt64(first)
      }
    }
    return long()
  }

  @inline(__always)
  mutating func zigzag() -> Int64 { Int64(zigzag: varint()) }

  private mutating func long() -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while next < end {
      let byte = next.pointee
      if shift == 63 && byte > 1 { break }
      next += 1
      value |= UInt64(byte & 0x7f) &<< shift
      if byte < 0x80 { return value }
      shift &+= 7
    }
    failed = true
    return 0
  }
}
