// What the command says of long runs: progress while it reads, a trace that becomes large, the options.

import LifespanTrace
import XCTest

@testable import LifespanCommand

final class LongRunTests: XCTestCase {
  private final class Steps: TraceBytes {
    let name = "App.7.lifespan"
    func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) -> Int { target.count }
  }

  private var now: UInt64 = 5_000_000_000
  private var lines: [String] = []

  func testProgressIsShownAfterASecondAndTakenAwayAtTheEndOfEachPass() throws {
    let progress = ReadingProgress(Steps(), size: 1000, now: { self.now }, show: { self.lines.append($0) })
    let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 10, alignment: 8)
    defer { room.deallocate() }
    func read(_ offset: UInt64, after milliseconds: UInt64) throws {
      now += milliseconds * 1_000_000
      _ = try progress.read(at: offset, into: room)
    }
    try read(0, after: 0)
    try read(400, after: 999)
    XCTAssertEqual(lines, [])
    try read(500, after: 1)
    try read(600, after: 50)  // not at each read
    try read(700, after: 51)
    try read(990, after: 10)
    try read(0, after: 1)  // the next pass begins
    try read(990, after: 1)
    XCTAssertEqual(
      lines,
      [
        "lifespan: reading App.7.lifespan: 51 %", "lifespan: reading App.7.lifespan: 71 %", "",
        "lifespan: reading App.7.lifespan: 1 %", "",
      ])
  }

  func testATraceThatBecomesLargeIsSaidOnce() throws {
    for isBounded in [false, true] {
      let file = try TraceFile(in: OutputName(pattern: NSTemporaryDirectory() + "large.lifespan"))
      defer { file.discard() }
      var said: [String] = []
      let sink = TraceSink(file, isBounded: isBounded, large: 1000, warn: { said.append($0) })
      for _ in 0..<30 { XCTAssertEqual([UInt8](repeating: 7, count: 100).withUnsafeBytes { sink.write($0) }, 0) }
      XCTAssertEqual(said.count, isBounded ? 0 : 1)
      for line in said {
        XCTAssertTrue(line.contains("--keep living") && line.contains("--max-size") && line.contains(file.path), line)
        XCTAssertFalse(line.contains("\n"))
      }
    }
  }

  func testTheOptionsOfLongRunsAreChecked() throws {
    func options(_ words: String...) throws -> RecordOptions {
      try RecordOptions(ArgumentParser(command: RecordCommand.spec).parse(words + ["--", "App"]))
    }
    XCTAssertTrue(try options("--keep", "living").isBounded)
    XCTAssertFalse(try options("--keep", "all").isBounded)
    XCTAssertEqual(try options("--max-size", "3M").maxSize, 3 << 20)
    XCTAssertTrue(try options("--max-size", "1M").isBounded)
    for bad in ["1023K", "0", "1.5G", "much"] { XCTAssertThrowsError(try options("--max-size", bad), bad) }
    XCTAssertThrowsError(try options("--keep", "dead"))
  }
}
