// Whole outputs of every report, compared with the files in Goldens.
import Foundation
import LifespanAnalysis
import LifespanTrace
import XCTest

@testable import LifespanReport

final class RendererTests: XCTestCase {
  private func options(
    _ format: ReportFormat = .table, columns: [String]? = nil, sort: String? = nil, limit: Int? = nil
  ) -> ReportOptions {
    ReportOptions(format: format, columns: columns, sort: sort, limit: limit)
  }

  private func statistics(_ information: TraceInformation = Sample.information) -> StatisticsReport {
    StatisticsReport(Sample.statistics, subject: ReportSubject(information), names: Sample.names)
  }

  private func check(_ text: String, _ golden: String, line: UInt = #line) {
    assertGolden(text, golden, line: line)
    if golden.hasSuffix(".txt") { assertFitsTheLine(text, line: line) }
    if golden.hasSuffix(".json") {
      XCTAssertNoThrow(try JSONSerialization.jsonObject(with: Data(text.utf8)), line: line)
    }
  }

  func testStatisticsInEveryFormat() {
    check(statistics().render(options()), "stats.txt")
    check(statistics().render(options(.json)), "stats.json")
    check(statistics().render(options(.csv)), "stats.csv")
    check(statistics().render(options(.markdown)), "stats.md")
  }

  func testAnIncompleteRecordingSaysSoBeforeItsFirstRow() {
    check(statistics(Sample.incomplete).render(options()), "stats-incomplete.txt")
    check(statistics(Sample.incomplete).render(options(.json, limit: 1)), "stats-incomplete.json")
    check(statistics(Sample.incomplete).render(options(.markdown, limit: 1)), "stats-incomplete.md")
  }

  func testColumnsOrderAndLimitAreTheReadersChoice() {
    let chosen = options(columns: ["module", "total_count", "type"], sort: "total_count", limit: 2)
    check(statistics().render(chosen), "stats-chosen.txt")
    check(statistics().render(options(sort: "type")), "stats-by-name.txt")
  }

  func testStatisticsWithoutRowsSaySo() {
    let empty = Statistics(
      lifespan: .destroyed, window: TimeWindow(from: .mark("launched")), rows: [], total: Tally(), totalsByKind: [],
      unknownDeaths: 3)
    let report = StatisticsReport(empty, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "stats-empty.txt")
    check(report.render(options(.json)), "stats-empty.json")
  }

  func testGenerationsInEveryFormat() {
    let report = GenerationsReport(Sample.generations, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "generations.txt")
    check(report.render(options(.json)), "generations.json")
    check(report.render(options(.csv)), "generations.csv")
    check(report.render(options(.markdown)), "generations.md")
  }

  func testOneGenerationShowsItsTypesAndDownToObjectsAndStacks() {
    let chosen = Sample.generations.closed[0]
    let types = GenerationsReport(
      Sample.generations, chosen: chosen, subject: ReportSubject(Sample.information), names: Sample.names)
    check(types.render(options()), "generation.txt")
    check(types.render(options(.csv)), "generation.csv")
    let objects = GenerationsReport(
      Sample.generations, chosen: chosen, objects: Sample.objects, subject: ReportSubject(Sample.information),
      names: Sample.names)
    check(objects.render(options()), "generation-objects.txt")
    check(objects.render(options(.json)), "generation-objects.json")
  }

  func testALimitCutsStacksToo() {
    let report = GenerationsReport(
      Sample.generations, chosen: Sample.generations.closed[0], objects: Sample.objects,
      subject: ReportSubject(Sample.information), names: Sample.names)
    XCTAssertTrue(report.render(options(limit: 1)).hasSuffix("    @12 @14 …\n… 1 more stack (--limit)\n"))
  }

  func testWithoutMarksTheGenerationsReportSaysHowToSetOne() {
    var generations = Sample.generations
    generations.closed = []
    let report = GenerationsReport(generations, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "generations-unmarked.txt")
  }

  func testDifferenceInTextAndJSON() {
    let report = DifferenceReport(Sample.difference, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "diff.txt")
    check(report.render(options(.json)), "diff.json")
  }

  func testObjectsInTextAndJSON() {
    let report = ObjectsReport(Sample.objects, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "objects.txt")
    check(report.render(options(.json, sort: "died_ns", limit: 2)), "objects.json")
  }

  func testHistoryInTextAndJSON() {
    let report = HistoryReport(Sample.history, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "history.txt")
    check(report.render(options(.json)), "history.json")
  }

  func testARunningRecordingSaysAsOfWhen() {
    let report = StatisticsReport(
      Sample.statistics, subject: ReportSubject(Sample.unfinished, isRunning: true), names: Sample.names)
    check(report.render(options(limit: 1)), "stats-running.txt")
  }

  func testDiscardedObjectsAreSaidFirstAndAFilterNamesItsSum() {
    let report = StatisticsReport(
      Sample.statistics, subject: ReportSubject(Sample.information, discarded: 12_000), names: Sample.names,
      isFiltered: true)
    check(report.render(options(limit: 1)), "stats-discarded.txt")
  }

  func testColourTouchesHeadingsSummariesAndNotesOnly() {
    var coloured = options(limit: 1)
    coloured.style = TextStyle(usesColor: true)
    let text = statistics(Sample.incomplete).render(coloured)
    let plain = text.replacing(/\u{1b}\[\d*m/, with: "")
    XCTAssertNotEqual(text, plain)
    XCTAssertEqual(plain, statistics(Sample.incomplete).render(options(limit: 1)))
  }
}
