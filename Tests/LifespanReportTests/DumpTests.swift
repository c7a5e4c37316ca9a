// The text of `dump` for a trace that has every kind of chunk and event.
import LifespanTrace
import XCTest

@testable import LifespanReport

final class DumpTests: XCTestCase {
  func testEveryChunkAndEventKindIsWritten() throws {
    var text = ""
    try TraceDump(SampleTrace.everything().trace()).write { text += $0 }
    assertGolden(text, "dump.txt")
    for kind in 1...13 { XCTAssertTrue(text.contains(" \(ChunkKind(UInt8(kind))), "), "chunk kind \(kind)") }
  }

  func testACutTraceIsWrittenUpToThereAndSaysWhere() throws {
    let bytes = SampleTrace.everything().bytes()
    var text = ""
    try TraceDump(Trace(TraceMemory(Array(bytes.dropLast(5))))).write { text += $0 }
    let last = text.split(separator: "\n").last.map(String.init) ?? ""
    XCTAssertTrue(last.hasPrefix("cut at byte "), last)
  }
}
