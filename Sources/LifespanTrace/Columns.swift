// A chunk's payload as columns. Used by the row decoder and by EventDecoder.
import CTraceFormat

/// Why a payload can't be used.
enum PayloadFailure: Error {
  case malformed(Malformed)
  /// A column that must be understood.
  case unknownColumn(UInt8)

  static func damaged(_ what: String) -> PayloadFailure { .malformed(Malformed(what)) }
}

/// The columns of one payload, by tag.
struct Columns {
  private var starts: [(tag: UInt8, bytes: UnsafeRawBufferPointer)] = []

  /// Splits a payload. Tags of `known` are kept, others skipped, or refused where their bit 7 says so.
  init(_ payload: UnsafeRawBufferPointer, known: Set<UInt8>) throws(PayloadFailure) {
    var reader = ByteReader(payload)
    while !reader.isAtEnd {
      let tag: UInt8
      let bytes: UnsafeRawBufferPointer
      do throws(Malformed) {
        tag = try reader.byte()
        bytes = try reader.blob()
      } catch {
        throw .malformed(error)
      }
      guard known.contains(tag) else {
        if tag & UInt8(LIFESPAN_COLUMN_MUST_UNDERSTAND) != 0 { throw .unknownColumn(tag) }
        continue
      }
      if self[tag] != nil { throw .damaged("column \(tag) stands twice") }
      starts.append((tag, bytes))
    }
  }

  subscript(tag: UInt8) -> UnsafeRawBufferPointer? { starts.first { $0.tag == tag }?.bytes }
}
