// Growth since marks, and values counted by tokens.
import Lifespan
import XCTest

final class GrowthTests: RecordedTestCase {
  final class Page { var value = 1 }
  final class Line { var value = 1 }
  struct Upload: ~Copyable { let token = Allocations.Token("GrowthTests.Upload") }
  struct Entry { let token = Allocations.Token("GrowthTests.Entry", bytes: 100) }

  func testGrowthIsWhatWasBornSinceAMarkAndLives() throws {
    let before = (0..<5).map { _ in Page() }
    let first = Allocations.markGeneration("opened")
    var pages = (0..<10).map { _ in Page() }
    let second = Allocations.markGeneration()
    let lines = (0..<4).map { _ in Line() }
    pages.removeLast(3)
    let page = "LifespanTests.GrowthTests.Page"
    let line = "LifespanTests.GrowthTests.Line"
    let growth = try Allocations.growth(since: first)
    XCTAssertEqual(growth.persistentCount(ofType: page), 7)
    XCTAssertEqual(growth.persistentCount(ofType: line), 4)
    XCTAssertEqual(growth.rows.first { $0.type == page }?.persistentBytes, 7 * 24)
    XCTAssertEqual(try Allocations.growth(since: second).persistentCount(ofType: page), 0)
    XCTAssertEqual(try Allocations.growth(since: second).persistentCount(ofType: line), 4)
    XCTAssertEqual(first.name, "opened")
    withExtendedLifetime((before, pages, lines)) {}
  }

  func testDeathsAfterALaterMarkLowerTheGrowthOfTheirOwnGeneration() throws {
    final class Short { var value = 1 }
    let mark = Allocations.markGeneration("round 1")
    var objects = (0..<6).map { _ in Short() }
    Allocations.markGeneration("round 2")
    XCTAssertEqual(try Allocations.growth(since: mark).persistentCount(ofType: "LifespanTests.GrowthTests.Short"), 6)
    objects.removeAll()
    XCTAssertEqual(try Allocations.growth(since: mark).persistentCount(ofType: "LifespanTests.GrowthTests.Short"), 0)
  }

  func testTheLibrarysOwnObjectsAreNoGrowth() throws {
    func ours(_ mark: Allocations.Mark) throws -> [Allocations.Growth.Row] {
      try Allocations.growth(since: mark).rows.filter { $0.type.contains("lifespan_") || $0.type.contains("Lifespan.") }
    }
    let mark = Allocations.markGeneration("nothing")
    XCTAssertEqual(try ours(mark), [])
    _ = try Allocations.statistics(.all)
    XCTAssertEqual(try ours(mark), [])
  }

  func testANoncopyableValueIsCountedUntilItIsConsumed() throws {
    let upload = Upload()
    XCTAssertEqual(try Allocations.liveCount(ofToken: "GrowthTests.Upload"), 1)
    _ = consume upload
    XCTAssertEqual(try Allocations.liveCount(ofToken: "GrowthTests.Upload"), 0)
  }

  func testCopiesOfAValueCountOnce() throws {
    var entries = (0..<9).map { _ in Entry() }
    var copies = entries
    XCTAssertEqual(try Allocations.liveCount(ofToken: "GrowthTests.Entry"), 9)
    entries.removeAll()
    XCTAssertEqual(try Allocations.liveCount(ofToken: "GrowthTests.Entry"), 9)
    let row = try XCTUnwrap(row("GrowthTests.Entry"))
    XCTAssertEqual(row.kind, .token)
    XCTAssertEqual(row.persistentBytes, 900)
    copies.removeLast(4)
    XCTAssertEqual(try Allocations.liveCount(ofToken: "GrowthTests.Entry"), 5)
  }
}
