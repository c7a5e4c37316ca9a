// The text of `dump` for a trace that has every kind of chunk and event.
import LifespanTrace
import XCTest

@testable import LifespanReport

final class DumpTests: XCTestCase {
  func testEveryChunkAndEventKindIsWritten() throws {
    var text = ""
    try TraceDump(SampleTrace.everything().trace()).write { text += $0 }
    assertGolden(text, "dump.txt")
    for kind in 1...20 { XCTAssertTrue(text.contains(" \(ChunkKind(UInt8(kind))), "), "chunk kind \(kind)") }
  }

  func testTheDocumentHoldsEveryRecordOnALineOfItsOwn() throws {
    var text = ""
    try TraceDump(SampleTrace.everything().trace()).writeJSON { text += $0 }
    assertGolden(text, "dump.json")
    let records = text.split(separator: "\n").filter { $0.hasPrefix("  {\"record\":") }
    for kind in [
      "chunk", "info", "image", "stack", "type", "thread", "site", "mark", "gap", "task", "total", "recording", "end",
      "sample",
      "thread_origin", "heap", "heap_node", "heap_edge", "heap_root", "heap_name",
    ] { XCTAssertTrue(records.contains { $0.hasPrefix("  {\"record\":\"\(kind)\"") }, kind) }
    XCTAssertEqual(records.filter { $0.contains("\"record\":\"event\"") }.count, 14)
  }

  func testTheDocumentOfACutTraceIsWholeAndSaysWhere() throws {
    var text = ""
    try TraceDump(Trace(TraceMemory(Array(SampleTrace.story().bytes().dropLast(5))))).writeJSON { text += $0 }
    assertGolden(text, "dump-cut.json")
    XCTAssertTrue(text.contains("\"whole\":false,\"problem\":\"cut at byte "), text)
  }

  func testALongDocumentIsHandedOutInPieces() throws {
    var builder = SampleTrace.everything()
    let type = builder.type("App.Many", size: 16)
    for _ in 0..<20_000 { builder.birth(type) }
    var longest = 0
    var pieces = 0
    try TraceDump(builder.trace()).writeJSON {
      longest = max(longest, $0.utf8.count)
      pieces += 1
    }
    XCTAssertGreaterThan(pieces, 5)
    XCTAssertLessThan(longest, 1 << 20)
  }

  func testACutTraceIsWrittenUpToThereAndSaysWhere() throws {
    let bytes = SampleTrace.everything().bytes()
    var text = ""
    try TraceDump(Trace(TraceMemory(Array(bytes.dropLast(5))))).write { text += $0 }
    let last = text.split(separator: "\n").last.map(String.init) ?? ""
    XCTAssertTrue(last.hasPrefix("cut at byte "), last)
  }
}
