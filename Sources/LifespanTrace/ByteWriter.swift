// Appends varints, strings and blobs. Used by everything that writes a trace.

/// Bytes that grow.
struct ByteWriter {
  var bytes: [UInt8] = []

  mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func varint<N: FixedWidthInteger & UnsignedInteger>(_ value: N) { varint(UInt64(value)) }

  mutating func zigzag(_ value: Int64) { varint(value.zigzag) }

  mutating func blob(_ blob: [UInt8]) {
    varint(UInt64(blob.count))
    bytes += blob
  }

  mutating func string(_ text: String) { blob(Array(text.utf8)) }

  mutating func fixed<N: FixedWidthInteger>(_ value: N) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  mutating func column(_ tag: UInt8, _ content: [UInt8]) {
    bytes.append(tag)
    blob(content)
  }
}
