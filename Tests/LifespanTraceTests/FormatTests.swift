// The format, frozen: sizes, checksums, and the bytes of one small trace. A change here is a change of the format.
import CTraceFormat
import Testing

@testable import LifespanTrace

@Suite struct FormatTests {
  @Test func sizesStayAsTheyAre() {
    #expect(TraceHeader.byteCount == 64)
    #expect(ChunkHeader.byteCount == 24)
    #expect(TraceHeader().encoded().count == 64)
    #expect(ChunkHeader.rawLimit == 64 << 20)
    #expect(EventKind.endNotSeen.rawValue == UInt8(LIFESPAN_EVENT_END_NOT_SEEN.rawValue))
    #expect(ObjectKind.token.rawValue == UInt8(LIFESPAN_KIND_TOKEN.rawValue))
    #expect(StackID.firstNode.rawValue == LIFESPAN_STACK_FIRST)
  }

  @Test func theChecksumIsCastagnolis() {
    #expect(CRC32C.of(Array("123456789".utf8)) == 0xe306_9283)
    #expect(CRC32C.of([]) == 0)
    #expect(CRC32C.of([UInt8](repeating: 0, count: 32)) == 0x8a91_36aa)
  }

  @Test func aSmallTraceHasTheseBytes() throws {
    var builder = TraceBuilder()
    builder.info = [InfoRecord(key: "program", value: "A")]
    builder.end = []
    let node = builder.type("A.N", size: 32)
    let first = builder.birth(node)
    builder.death(first)
    builder.mark("m")
    builder.birth(node)
    #expect(hex(builder.bytes()) == FormatTests.golden)
  }

  private func hex(_ bytes: [UInt8]) -> String {
    bytes.map { (($0 < 16 ? "0" : "") + String($0, radix: 16)) }.joined()
  }

  private static let golden = [
    "4c4946455350414e0100000040000000020101010010000000ca9a3b0000000000000000000000000000000000000000",
    "000000000000000001000000c600ad5f4c53434b040100000f0000000f000000190223d27d8ed715810d010101008020",
    "20000003412e4e4c53434b060100000600000006000000eda8ee1cc3e4124a8104010100204c53434b08010000090000",
    "00090000001d8de08a56871c1981070100a01f02016d4c53434b0701000027000000270000005a6052e8fd3a15a28104",
    "00030000820301020103020301040500d00fd00f85020000860101070881808080808028004c53434b010100000d0000",
    "000d00000089f9e4040d7990ee810b010770726f6772616d01414c53434b0d0100001100000011000000dd713ceb3526",
    "1d85810f02066576656e74730303656e64b817",
  ].joined()

  @Test func numbersOfAnyLengthComeBack() throws {
    for shift in 0..<64 {
      for value in [UInt64(1) << shift, (UInt64(1) << shift) &- 1, UInt64.max >> shift] {
        var writer = ByteWriter()
        writer.varint(value)
        writer.zigzag(Int64(bitPattern: value))
        writer.bytes.withUnsafeBytes { bytes in
          var cursor = VarintCursor(bytes)
          #expect(cursor.varint() == value)
          #expect(cursor.zigzag() == Int64(bitPattern: value))
          #expect(cursor.isAtEnd && !cursor.failed)
        }
      }
    }
  }

  @Test func aNumberOfMoreThan64BitsIsRefused() {
    let long = [UInt8](repeating: 0xff, count: 9) + [2]
    long.withUnsafeBytes { bytes in
      var cursor = VarintCursor(bytes)
      #expect(cursor.varint() == 0)
      #expect(cursor.failed)
      var reader = ByteReader(bytes)
      #expect(throws: Malformed.self) { try reader.varint() }
    }
  }

  @Test func ticksBecomeNanosecondsWithoutOverflow() {
    var header = TraceHeader()
    header.ticksPerSecond = 2_595_124_000
    #expect(header.time(Ticks(2_595_124_000 * 3)) == TraceTime(3_000_000_000))
    #expect(header.time(Ticks(-2_595_124_000)) == TraceTime(-1_000_000_000))
    #expect(header.time(Ticks(Int64.min)).rawValue < 0)
    #expect(header.ticks(TraceTime(3_000_000_000)) == Ticks(2_595_124_000 * 3))
    header.ticksPerSecond = 1
    #expect(header.time(Ticks(Int64.max)) == TraceTime(Int64.max))
    #expect(header.time(Ticks(Int64.min)) == TraceTime(Int64.min))
  }

  @Test func generationsAreNamedByLetters() {
    let numbers: [UInt32] = [0, 1, 25, 26, 27, 51, 52, 701, 702]
    #expect(numbers.map { Generation($0).letters } == ["A", "B", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"])
  }
}

@Suite struct ImageMapTests {
  private func map() -> ImageMap {
    var map = ImageMap()
    map.add([
      ImageRecord(id: ImageID(1), epoch: Epoch(0), bias: 0x1000, start: 0x1000, end: 0x9000, path: "/bin/App"),
      ImageRecord(id: ImageID(2), epoch: Epoch(1), bias: 0x20000, start: 0x20000, end: 0x30000, path: "/lib/a.so"),
      ImageRecord(id: ImageID(2), isLoad: false, epoch: Epoch(2), bias: 0, start: 0, end: 0, path: ""),
      ImageRecord(id: ImageID(3), epoch: Epoch(3), bias: 0x1f000, start: 0x28000, end: 0x40000, path: "/lib/b.so"),
    ])
    return map
  }

  @Test func anAddressBelongsToWhatWasLoadedThereThen() {
    let map = map()
    #expect(map.locate(0x28010, epoch: Epoch(1))?.image.path == "/lib/a.so")
    #expect(map.locate(0x28010, epoch: Epoch(2)) == nil)
    #expect(map.locate(0x28010, epoch: Epoch(3))?.image.path == "/lib/b.so")
    #expect(map.locate(0x28010, epoch: Epoch(3))?.offset == 0x9010)
    #expect(map.locate(0x28010, epoch: Epoch(0)) == nil)
    #expect(map.locate(0x20010)?.image.id == ImageID(2))
    #expect(map.locate(0x9000) == nil)
    #expect(map.locate(0xfff) == nil)
  }

  @Test func aReturnAddressIsLookedUpInsideItsCall() {
    // The call is the image's last instruction: the return address is already outside.
    let frame = StackNode(id: StackID(2), pc: ReturnAddress(0x9000), epoch: Epoch(9))
    #expect(map().locate(frame)?.image.path == "/bin/App")
    #expect(map().locate(frame)?.offset == 0x7fff)
  }
}
