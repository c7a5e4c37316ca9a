// The reports of growth and of one round in every format, and the command's exit statuses.
import Foundation
import LifespanAnalysis
import LifespanHeap
import LifespanTrace
import XCTest

@testable import LifespanReport

final class GrowthReportTests: XCTestCase {
  /// A program of rounds of a second: a page a round stays in a cache, two requests are lost in each, a thumb replaces another, one
  /// list gets longer, and a queue goes up and down.
  private func builder(rounds: Int = 5, picture: Bool = true) -> TraceBuilder {
    var builder = TraceBuilder(SampleTrace.header)
    builder.info = SampleTrace.info
    builder.step = 10_000_000
    // Number 2: the sample names its frames.
    let stack = builder.stack(0x1008)
    let names = ["App.Cache", "App.Page", "App.Request", "App.Thumb", "App.Job"]
    let types = names.map { builder.type($0) }
    let list = builder.type("Swift._ContiguousArrayStorage<App.Page>", kind: .array)
    var heap = HeapGraphBuilder(HeapGraph.Head(number: 1, time: TraceTime(12_000_000), objectsChecked: 9))
    var address: UInt64 = 0x7000_0000
    func add(_ type: TypeID, size: Int64 = 48) -> (SerialNumber, UInt32) {
      address += 0x2000
      let serial = builder.birth(type, size: size, stack: stack, address: address)
      return (serial, heap.addNode(address: address, size: UInt64(size), serial: serial.rawValue, type: type))
    }
    let cache = add(types[0]).1
    heap.addRoot(to: cache, kind: .global, label: heap.name("App.cache"), offset: 8)
    var thumb = builder.birth(types[3], stack: stack)
    var pages = builder.birth(list, size: 64)
    var jobs: [SerialNumber] = []
    for round in 0..<rounds {
      heap.addEdge(from: cache, to: add(types[1]).1, offset: 16, label: heap.name("[\(round)]"))
      _ = add(types[2])
      _ = add(types[2])
      builder.death(thumb)
      thumb = builder.birth(types[3], stack: stack)
      builder.death(pages)
      pages = builder.birth(list, size: Int64(64 + 1_600 * (round + 1)))
      jobs.forEach { builder.death($0) }
      jobs = (0..<[3, 1, 4, 2, 5, 3][round % 6]).map { _ in builder.birth(types[4]) }
      builder.now = Ticks(Int64(round + 1) * 1_000_000_000)
      builder.mark(round == 0 ? "launched" : "round \(round)")
    }
    if picture { builder.heap(heap.finish()) }
    return builder
  }

  private func analysis(_ builder: TraceBuilder) throws -> (Analysis, Heap?, ReportSubject) {
    let trace = try builder.trace()
    let analysis = Analysis(trace, naming: RowNaming(function: { Sample.names.functionName(at: $0) }))
    let heap = trace.heapPictures.isEmpty ? nil : try trace.heapGraph(0).map { try Heap($0, analysis) }
    return (analysis, heap, ReportSubject(try analysis.information()))
  }

  private func report(_ builder: TraceBuilder, showsAll: Bool = false) throws -> GrowthReport {
    let (analysis, heap, subject) = try analysis(builder)
    let trends = try analysis.answer(GrowthQuestion())
    let growing = Set(trends.rows.filter { $0.verdict == .linear }.map(\.type))
    let left = try analysis.answer(RoundTripQuestion(from: .mark(0), to: .mark(trends.lastMark ?? 0), only: growing))
    return GrowthReport(trends, left: left, heap: heap, subject: subject, names: Sample.names, showsAll: showsAll)
  }

  private func round(_ builder: TraceBuilder, isOverLimit: Bool = false) throws -> RoundTripReport {
    let (analysis, heap, subject) = try analysis(builder)
    let (from, to) = (Moment.mark("round 1"), Moment.mark("round 2"))
    let round = try analysis.answer(RoundTripQuestion(from: .moment(from), to: .moment(to)))
    return RoundTripReport(
      round, from: from, to: to, heap: heap, subject: subject, names: Sample.names, isOverLimit: isOverLimit)
  }

  private func check(_ text: String, _ golden: String, line: UInt = #line) {
    assertGolden(text, golden, line: line)
    if golden.hasSuffix(".txt") { assertFitsTheLine(text, line: line) }
  }

  func testGrowthInEveryFormat() throws {
    let report = try report(builder())
    check(report.render(ReportOptions()), "growth.txt")
    check(report.render(ReportOptions(format: .json)), "growth.json")
    check(report.render(ReportOptions(format: .csv)), "growth.csv")
    check(report.render(ReportOptions(format: .markdown)), "growth.md")
    check(report.render(ReportOptions(format: .junit)), "growth.xml")
    check(try self.report(builder(), showsAll: true).render(ReportOptions(limit: 2)), "growth-all.txt")
  }

  func testTooFewRoundsSaySo() throws {
    let report = try report(builder(rounds: 3, picture: false))
    check(report.render(ReportOptions()), "growth-withheld.txt")
    check(report.render(ReportOptions(format: .json)), "growth-withheld.json")
    check(report.render(ReportOptions(format: .markdown)), "growth-withheld.md")
    XCTAssertTrue(report.render(ReportOptions(format: .junit)).contains("skipped=\"1\""))
  }

  func testOneRoundInEveryFormat() throws {
    let report = try round(builder())
    check(report.render(ReportOptions()), "round.txt")
    check(report.render(ReportOptions(format: .json)), "round.json")
    check(report.render(ReportOptions(format: .csv)), "round.csv")
    check(report.render(ReportOptions(format: .markdown)), "round.md")
    check(report.render(ReportOptions(format: .junit)), "round.xml")
    let failing = try round(builder(), isOverLimit: true).render(ReportOptions(format: .junit))
    XCTAssertTrue(failing.contains("failures=\"5\" errors=\"0\" skipped=\"0\""), failing)
  }

  func testARoundWithoutAPictureNamesNoHolder() throws {
    let text = try round(builder(picture: false)).render(ReportOptions())
    XCTAssertFalse(text.contains("held by") || text.contains("leaked"), text)
    XCTAssertTrue(text.contains("1 suspect: App.Page, 48 B"), text)
  }

  func testThousandthsHaveTheDecimalsThatTheyNeed() {
    for (value, text) in [
      (0, "0"), (100_000, "100"), (250, "0.25"), (-3_500, "-3.5"), (1_204_001, "1,204.001"), (-7, "-0.007"),
    ] as [(Int64, String)] {
      XCTAssertEqual(Units.thousandths(value), text)
    }
    XCTAssertEqual(JSONValue.thousandths(1_204_500).text, "1204.5")
  }

  // The command.

  private func folder(_ builder: TraceBuilder) throws -> URL {
    let folder = try temporaryFolder(self)
    try Data(builder.bytes()).write(to: folder.appendingPathComponent("run.lifespan"))
    return folder
  }

  func testExitStatusesOfGrowth() throws {
    let folder = try folder(builder())
    for (words, status) in [
      ([], 0), (["--fail-on", "growth=1599"], 1), (["--fail-on", "growth=1600"], 0), (["--fail-on", "survivors=1"], 1),
      (["--fail-on", "survivors=2"], 0), (["--fail-on", "growth=10%"], 1), (["--fail-on", "growth=1000%"], 0),
      (["--type", "App.Thumb", "--fail-on", "survivors"], 0), (["--type", "App.Page", "--fail-on", "survivors"], 1),
      (["--fail-on", "leaked"], 64), (["--warm-up", "2"], 0), (["--warm-up", "x"], 64), (["--format", "dot"], 64),
      (["--warm-up", "1", "--from", "launched"], 64), (["--from", "nothing"], 2), (["--picture", "2"], 2),
      (["--round", "round 1", "round 2"], 0), (["--round", "round 1"], 64), (["--round"], 64),
      (["--round", "round 1", "round 2", "--warm-up", "1"], 64), (["--round", "round 2", "round 1"], 2),
      (["--round", "1s", "2s", "--type", "App.*", "--fail-on", "survivors=7"], 0),
      (["--round", "1s", "2s", "--type", "App.*", "--fail-on", "survivors=4"], 1),
      (["--round", "round 1", "round 2", "--fail-on", "growth=100"], 1),
    ] as [([String], Int32)] {
      let run = try CommandRun(["growth", "run.lifespan"] + words, in: folder)
      XCTAssertEqual(run.status, status, "\(words): \(run.stderr)")
    }
    // The pair of marks is no operand, wherever it stands.
    let first = try CommandRun(["growth", "--round", "round 1", "round 2", "run.lifespan"], in: folder)
    let last = try CommandRun(["growth", "run.lifespan", "--round", "round 1", "round 2"], in: folder)
    XCTAssertEqual(first.stdout, last.stdout)
    let said = try CommandRun(["growth", "--type", "App.Page", "--fail-on", "survivors"], in: folder).stderr
    XCTAssertEqual(said, "lifespan: App.Page grows in a round by: 1 object, over 0\n")
  }

  func testALimitThatCanNotBeHeldDoesNotPass() throws {
    let folder = try folder(builder(rounds: 3))
    let run = try CommandRun(["growth", "--fail-on", "growth=1M"], in: folder)
    XCTAssertEqual(run.status, 2)
    XCTAssertEqual(run.stderr, "lifespan: --fail-on: growth can't be told: not enough rounds: 3, 4 are needed\n")
    XCTAssertEqual(try CommandRun(["growth"], in: folder).status, 0)
  }
}
