// The report of threads in every format, rows of threads in other reports, and what stats says of resident memory.
import Foundation
import LifespanAnalysis
import LifespanTrace
import XCTest

@testable import LifespanReport

final class ThreadsReportTests: XCTestCase {
  private func check(_ text: String, _ golden: String, line: UInt = #line) {
    assertGolden(text, golden, line: line)
    if golden.hasSuffix(".txt") { assertFitsTheLine(text, line: line) }
  }

  private func ns(_ seconds: Double) -> TraceTime { TraceTime(Int64(seconds * 1e9)) }

  private var list: ThreadList {
    let rows = [
      ThreadList.Row(
        thread: .main, tid: 700, name: "App", age: ns(12.4).rawValue, events: 1_200_000, lastEvent: ns(12.3)),
      ThreadList.Row(
        thread: ThreadID(2), tid: 701, name: "event loop", born: ns(0.5), isOriginKnown: true, age: ns(11.9).rawValue,
        creator: .main, stack: StackID(2), start: 0x2000, stackBytes: ByteCount(8 << 20), events: 12,
        lastEvent: ns(0.6)),
      ThreadList.Row(
        thread: ThreadID(3), tid: 702, name: "App", state: .ended, born: ns(1), isOriginKnown: true, ended: ns(2.25),
        age: ns(1.25).rawValue, creator: ThreadID(2), stack: StackID(3), start: 0x9000, stackBytes: ByteCount(65_536)),
      ThreadList.Row(thread: ThreadID(4), tid: 703, state: .gone, born: ns(3), ended: ns(3.5), age: ns(0.5).rawValue),
    ]
    return ThreadList(rows: rows, livingCount: 2, endedCount: 2)
  }

  private func report(_ list: ThreadList, linked: Bool = false) -> ThreadsReport {
    var information = Sample.information
    information.door = linked ? .linked : .preload
    return ThreadsReport(list, subject: ReportSubject(information), names: Sample.names)
  }

  func testThreadsInEveryFormat() {
    check(report(list).render(ReportOptions()), "threads.txt")
    check(report(list).render(ReportOptions(format: .json)), "threads.json")
    check(report(list).render(ReportOptions(format: .csv)), "threads.csv")
    check(report(list).render(ReportOptions(format: .markdown)), "threads.md")
  }

  func testTheLinkedLibrarySaysWhatItDoesNotSee() {
    var few = list
    few.rows.removeSubrange(1...2)
    check(report(few, linked: true).render(ReportOptions(sort: "age_ns", limit: 1)), "threads-linked.txt")
  }

  func testNoThreadsSaySo() {
    let none = ThreadList(lifespan: .living, rows: [], livingCount: 0, endedCount: 3)
    XCTAssertTrue(
      report(none).render(ReportOptions()).hasSuffix("there is no such thread (--lifespan all shows them all)\n"))
  }

  // ---- Threads as rows ----

  private func recording() throws -> (Analysis, ReportNames) {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 48)
    let worker = builder.type("", kind: .thread, size: 0, caller: 0x2001)
    builder.birth(node)
    builder.birth(worker, size: 0)
    builder.mark("A")
    builder.death(builder.birth(worker, size: 0))
    builder.birth(worker, size: 0)
    let names = Sample.names
    return (Analysis(try builder.trace(), naming: RowNaming(function: { names.functionName(at: $0) })), names)
  }

  func testThreadsAreRowsByWhatTheyRunAndNoHeap() throws {
    let (analysis, names) = try recording()
    let subject = ReportSubject(try analysis.information())
    let statistics = try analysis.answer(StatisticsQuestion())
    check(
      StatisticsReport(statistics, subject: subject, names: names).render(ReportOptions()), "stats-threads.txt")
    let alone = try analysis.answer(StatisticsQuestion(types: TypeFilter(kinds: [.thread])))
    XCTAssertEqual(alone.total.persistentCount, 2)
    let generations = try analysis.answer(GenerationsQuestion())
    XCTAssertEqual(generations.closed[0].persistentCount, 1)
    XCTAssertEqual(generations.closed[0].survivors, 1)
    XCTAssertEqual(generations.closed[0].apart[.thread]?.persistentCount, 1)
    check(
      GenerationsReport(generations, chosen: generations.closed[0], subject: subject, names: names)
        .render(ReportOptions()), "generation-threads.txt")
    let difference = try analysis.answer(DifferenceQuestion(from: .mark("A"), to: .time(TraceTime(Int64.max))))
    XCTAssertEqual(difference.total.new.count, 0)
    XCTAssertEqual(difference.apart[.thread]?.new.count, 1)
  }

  func testAThreadHasNoAddress() throws {
    let (analysis, _) = try recording()
    let list = try analysis.answer(ObjectsQuestion(types: TypeFilter(kinds: [.thread])))
    XCTAssertEqual(list.objects.map(\.address), [nil, nil])
    XCTAssertEqual(list.objects.map(\.type.name), ["thread in Worker.start(_:)", "thread in Worker.start(_:)"])
  }

  // ---- Resident memory ----

  private func memory(_ samples: [SampleRecord]) throws -> ResidentMemory? {
    var builder = TraceBuilder()
    builder.info.append(InfoRecord(key: "malloc", value: "all"))
    builder.rows(.samples(samples))
    return ResidentMemory(try builder.trace())
  }

  private func sample(_ seconds: Int64, heap: Int64, living: Int64) -> SampleRecord {
    SampleRecord(
      time: Ticks(seconds * 1_000_000_000), flags: 4, resident: ByteCount((heap + 30) << 20),
      anonymous: ByteCount((heap + 10) << 20), heapResident: ByteCount(heap << 20), livingCount: UInt64(living * 100),
      livingBytes: ByteCount(living << 19), livingFootprint: ByteCount(living << 20))
  }

  func testStatisticsEndWithAVerdictWhereTheHeapAndItsPagesPart() throws {
    func text(_ samples: [SampleRecord], _ format: ReportFormat = .table, isFiltered: Bool = false) throws -> String {
      StatisticsReport(
        Sample.statistics, subject: ReportSubject(Sample.information), names: Sample.names, isFiltered: isFiltered,
        resident: try memory(samples)
      ).render(ReportOptions(format: format))
    }
    let held = [sample(1, heap: 40, living: 39), sample(2, heap: 500, living: 490), sample(3, heap: 490, living: 2)]
    check(try text(held), "stats-resident.txt")
    check(try text(held, .json), "stats-resident.json")
    let apart = (0..<8).map { sample($0, heap: 1_000 + $0 * 60, living: 1_000 - $0) }
    check(try text(apart), "stats-resident-grows.txt")
    XCTAssertFalse(try text(held, isFiltered: true).contains("resident"))
  }
}
