// CRC-32C (Castagnoli, reflected, 0x82f63b78): the checksum of headers and chunks.

/// Eight tables of 256 entries, so that eight bytes take eight lookups and no shift by one (about 2 GB/s, a small part of
/// what decompression costs).
enum CRC32C {
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 8 * 256)
    for byte in 0..<256 {
      var value = UInt32(byte)
      for _ in 0..<8 { value = (value & 1) == 0 ? value >> 1 : (value >> 1) ^ 0x82f6_3b78 }
      tables[byte] = value
    }
    for byte in 0..<256 {
      for table in 1..<8 {
        let before = tables[(table - 1) * 256 + byte]
        tables[table * 256 + byte] = (before >> 8) ^ tables[Int(before & 0xff)]
      }
    }
    return tables
  }()

  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt32 {
    tables.withUnsafeBufferPointer { table in
      var crc = UInt32.max
      var position = 0
      while position &+ 8 <= bytes.count {
        let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self).littleEndian ^ UInt64(crc)
        var next = table[Int(truncatingIfNeeded: word & 0xff) | 7 << 8]
        next ^= table[Int(truncatingIfNeeded: word &>> 8 & 0xff) | 6 << 8]
        next ^= table[Int(truncatingIfNeeded: word &>> 16 & 0xff) | 5 << 8]
        next ^= table[Int(truncatingIfNeeded: word &>> 24 & 0xff) | 4 << 8]
        next ^= table[Int(truncatingIfNeeded: word &>> 32 & 0xff) | 3 << 8]
        next ^= table[Int(truncatingIfNeeded: word &>> 40 & 0xff) | 2 << 8]
        next ^= table[Int(truncatingIfNeeded: word &>> 48 & 0xff) | 1 << 8]
        next ^= table[Int(truncatingIfNeeded: word &>> 56)]
        crc = next
        position &+= 8
      }
      while position < bytes.count {
        crc = (crc &>> 8) ^ table[Int((crc ^ UInt32(bytes[position])) & 0xff)]
        position &+= 1
      }
      return ~crc
    }
  }

  static func of(_ bytes: [UInt8]) -> UInt32 { bytes.withUnsafeBytes { of($0) } }
}
