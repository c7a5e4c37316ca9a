// As much of the protocol buffers encoding as PprofExport writes: varints, texts and messages within messages.

/// A message that is written.
struct ProtocolBuffer {
  private(set) var bytes: [UInt8] = []

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  /// A number; zero is what a reader takes where there is none.
  mutating func add(_ field: UInt64, _ value: UInt64) {
    guard value != 0 else { return }
    varint(field << 3)
    varint(value)
  }

  mutating func add(_ field: UInt64, _ value: Int64) { add(field, UInt64(bitPattern: value)) }

  mutating func add(_ field: UInt64, bytes content: some Collection<UInt8>) {
    varint(field << 3 | 2)
    varint(UInt64(content.count))
    bytes += content
  }

  /// A message, or numbers in one field.
  mutating func add(_ field: UInt64, _ content: ProtocolBuffer) { add(field, bytes: content.bytes) }

  /// Numbers behind each other, without a field of their own.
  static func packed(_ values: [UInt64]) -> ProtocolBuffer {
    var packed = ProtocolBuffer()
    for value in values { packed.varint(value) }
    return packed
  }
}
