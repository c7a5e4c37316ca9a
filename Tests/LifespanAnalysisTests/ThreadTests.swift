// The threads of a recording, and whether resident memory and the heap part, from small traces.
import LifespanAnalysis
import LifespanTrace
import XCTest

final class ThreadTests: XCTestCase {
  private func threads(_ build: (inout TraceBuilder) -> Void, _ lifespan: LifespanFilter = .all) throws -> ThreadList {
    var builder = TraceBuilder()
    build(&builder)
    return try Analysis(try builder.trace()).answer(ThreadsQuestion(lifespan: lifespan))
  }

  private func rows(_ builder: inout TraceBuilder) {
    func row(_ thread: UInt32, _ op: ThreadOp, _ time: Int64, _ name: String = "") -> ThreadRecord {
      ThreadRecord(thread: ThreadID(thread), tid: 100 + thread, op: op, time: Ticks(time), name: name)
    }
    builder.rows(
      .threads([
        row(1, .seen, 7, "App"), row(2, .seen, 2_000, "App"), row(2, .renamed, 3_000, "loop"), row(3, .seen, 4_000),
        row(3, .ended, 5_000, "said at the end"), row(4, .seen, 4_500, "x"), row(4, .gone, 6_000),
      ]))
    builder.rows(
      .threadOrigins([
        ThreadOriginRecord(
          thread: ThreadID(2), creator: .main, stack: StackID(5), start: 0x4000, time: Ticks(1_500), stackBytes: 65_536)
      ]))
    let node = builder.type("App.Node")
    builder.now = Ticks(2_500)
    builder.thread = ThreadID(2)
    builder.birth(node)
    builder.birth(node)
    builder.now = Ticks(9_000)
  }

  func testAThreadIsBornWhereItWasMadeAndEndsWhenItSaysSo() throws {
    let list = try threads(rows)
    XCTAssertEqual(list.rows.map(\.name), ["App", "loop", "said at the end", "x"])
    XCTAssertEqual(list.rows.map(\.state), [.living, .living, .ended, .gone])
    XCTAssertEqual(list.rows.map(\.born.rawValue), [0, 1_500, 4_000, 4_500])
    XCTAssertEqual(list.rows.map(\.ended?.rawValue), [nil, nil, 5_000, 6_000])
    XCTAssertEqual(list.rows.map(\.age), [9_000, 7_500, 1_000, 1_500])
    XCTAssertEqual(list.rows.map(\.isOriginKnown), [false, true, false, false])
    XCTAssertEqual(list.rows[1].creator, .main)
    XCTAssertEqual(list.rows[1].stack, StackID(5))
    XCTAssertEqual(list.rows[1].stackBytes, ByteCount(65_536))
    XCTAssertEqual(list.rows.map(\.events), [0, 2, 0, 0])
    XCTAssertEqual(list.rows[1].lastEvent, TraceTime(3_500))
    XCTAssertEqual([list.livingCount, list.endedCount], [2, 2])
  }

  func testTheFilterLeavesTheLivingOrTheEnded() throws {
    XCTAssertEqual(try threads(rows, .living).rows.map(\.thread.rawValue), [1, 2])
    XCTAssertEqual(try threads(rows, .destroyed).rows.map(\.thread.rawValue), [3, 4])
    XCTAssertEqual(try threads(rows, .destroyed).livingCount, 2)
  }

  func testAThreadThatOnlyItsEventsTellOfIsThere() throws {
    let list = try threads { builder in
      let node = builder.type("App.Node")
      builder.thread = ThreadID(9)
      builder.birth(node)
    }
    XCTAssertEqual(list.rows.map(\.thread.rawValue), [9])
    XCTAssertEqual(list.rows[0].events, 1)
  }

  // ---- Resident memory ----

  /// (heap's pages, footprint of what lives) in MiB, one a second.
  private func verdict(_ samples: [(heap: Int64, living: Int64)], whole: Bool = true, counted: Bool = true) throws
    -> ResidentMemory.Verdict?
  {
    var builder = TraceBuilder()
    if whole { builder.info.append(InfoRecord(key: "malloc", value: "all")) }
    builder.rows(
      .samples(
        samples.enumerated().map { index, sample in
          SampleRecord(
            time: Ticks(Int64(index) * 1_000_000_000), flags: counted ? 4 : 0, resident: ByteCount(sample.heap << 20),
            heapResident: ByteCount(sample.heap << 20), livingFootprint: ByteCount(sample.living << 20))
        }))
    return try XCTUnwrap(ResidentMemory(try builder.trace())).verdict
  }

  func testHalfOfThePagesHoldingNothingIsAVerdictFrom32MiBOn() throws {
    XCTAssertEqual(try verdict([(64, 32)]), .heldFree)
    XCTAssertNil(try verdict([(64, 33)]))
    XCTAssertNil(try verdict([(31, 0)]))
    XCTAssertEqual(try verdict([(500, 499), (500, 1)]), .heldFree)
    XCTAssertNil(try verdict([(500, 1), (500, 499)]))
  }

  func testPagesThatGrowWithoutWhatLivesAreAVerdict() throws {
    // Since the first quarter: by a quarter and 32 MiB at least, and what lives by less than a quarter of that.
    XCTAssertEqual(try verdict([(100, 90), (1_000, 900), (1_300, 950)]), .growsApart)
    XCTAssertEqual(try verdict([(0, 0), (1_000, 1_000), (1_250, 1_062)]), .growsApart)
    XCTAssertNil(try verdict([(0, 0), (1_000, 1_000), (1_249, 1_010)]))
    XCTAssertNil(try verdict([(0, 0), (1_000, 1_000), (1_260, 1_070)]))
    XCTAssertEqual(try verdict([(0, 0), (1_000, 900), (1_300, 800)]), .growsApart)
  }

  func testAProgramThatKeepsGrowingHasNoVerdict() throws {
    XCTAssertNil(try verdict((0..<60).map { (10 + $0 * 20, 9 + $0 * 19) }))
    XCTAssertNil(try verdict([(400, 500)]))  // memory that was never touched
  }

  func testWithoutAllBlocksOrWithoutPagesThereIsNoVerdict() throws {
    XCTAssertNil(try verdict([(500, 1)], whole: false))
    XCTAssertNil(try verdict([(500, 1)], counted: false))
    XCTAssertNil(ResidentMemory(try TraceBuilder().trace()))
  }
}
