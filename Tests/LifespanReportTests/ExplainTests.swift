// One type on one screen, and what is said to be likely.
import LifespanAnalysis
import LifespanTrace
import XCTest

@testable import LifespanReport

final class ExplainTests: XCTestCase {
  /// Five rounds, each of which leaves two nodes, and a page that dies.
  private func report(marks: Int = 5) throws -> ExplainReport {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 48)
    let other = builder.type("App.Other", size: 16)
    builder.birth(other)
    for round in 0..<marks {
      builder.birth(node)
      builder.birth(node)
      builder.death(builder.birth(node))
      builder.mark("round \(round)")
    }
    let analysis = Analysis(try builder.trace())
    let statistics = try analysis.answer(StatisticsQuestion(lifespan: .all, types: TypeFilter(include: ["App.*"])))
    let row = try XCTUnwrap(statistics.rows.first { $0.type.name == "App.Node" } ?? statistics.rows.first)
    let one = TypeFilter(include: [row.type.name])
    let (trends, sites) = try analysis.answer(GrowthQuestion(types: one), AllocationSitesQuestion(types: one))
    let facts = ExplainReport.Facts(
      type: row.type, tally: row.tally, others: statistics.rows.map(\.type).filter { $0 != row.type },
      trend: trends.rows.first, trends: trends, sites: sites, holders: nil, heap: nil)
    return ExplainReport(facts, subject: ReportSubject(Sample.information), names: Sample.names)
  }

  func testATypeOnOneScreen() throws {
    let text = try report().render(ReportOptions())
    assertGolden(text, "explain.txt")
    assertFitsTheLine(text)
    assertGolden(try report().render(ReportOptions(format: .json)), "explain.json")
  }

  func testWithoutMarksThereIsNoGrowth() throws {
    let text = try report(marks: 0).render(ReportOptions())
    XCTAssertTrue(text.contains("the recording has no marks: lifespan mark sets one"), text)
  }

  func testWhatIsNearestToTheCauseIsLikely() {
    func advice(_ path: String..., grows: Bool = true) -> String? { KnownPatterns.advice(path: path, grows: grows) }
    let table = "Swift._DictionaryStorage<Swift.String, App.Page> @2 .value"
    XCTAssertEqual(
      advice("global App.cache", table, "App.Page @3"),
      "a collection below a global only grows: give it a limit, or take out what is done")
    XCTAssertEqual(
      advice("global App.cache", table, "App.Page @3", grows: false),
      "a collection below a global holds it: take it out when it is done")
    // A session in a table is a session that was not invalidated.
    XCTAssertTrue(
      advice("global App.all", table, "FoundationNetworking.URLSession @4 .delegate", "App.Page @3")?
        .hasPrefix("a URLSession keeps its delegate") ?? false)
    XCTAssertTrue(
      advice("global x", "Foundation.__NSCFType (CFRunLoopTimer) @1 .context", "App.Page @3")?.contains("invalidate()")
        ?? false)
    XCTAssertNil(advice("stack of thread 2", "App.Page @3"))
    XCTAssertNil(advice("global App.one", "App.Page @3"))
  }
}
