// Starting, stopping, and what goes wrong there.
import Lifespan
import XCTest

final class RecordingTests: RecordedTestCase {
  final class Born: Tracked { var value = 1 }

  func testTheCaptureSaysWhatIsSeen() throws {
    switch try XCTUnwrap(Allocations.capture) {
    case .complete: break
    // A hook that is installed while threads run needs one certain place in memory; and other tests stop and start.
    case .partial(let reason): XCTAssertTrue(reason.contains("place") || reason.contains("was stopped"), reason)
    case .countsOnly(let reason): XCTFail(reason)
    }
  }

  func testASecondStartWithTheSameOptionsChangesNothing() throws {
    let object = made { Born() }
    XCTAssertEqual(try Allocations.start(recording: .swiftObjects, Self.rules), Allocations.capture)
    XCTAssertEqual(try Allocations.liveCount(of: Born.self), 1)
    withExtendedLifetime(object) {}
  }

  func testASecondStartWithOtherOptionsIsRefused() {
    XCTAssertThrowsError(try Allocations.start(recording: .tracked)) { error in
      XCTAssertEqual(error as? Allocations.StartError, .alreadyRecording)
    }
  }

  func testRulesAloneMeanSwiftObjectsOfThoseTypes() throws {
    XCTAssertEqual(try Allocations.start(recording: [.ignore("LifespanTests.*Cache")]), Allocations.capture)
    XCTAssertThrowsError(try Allocations.start(recording: [.record("MyApp.*"), .ignore("*Cache")])) { error in
      XCTAssertEqual(error as? Allocations.StartError, .alreadyRecording)
    }
  }

  func testRulesThatCannotBeReadAreRefused() {
    for rules: [Allocations.Rule] in [
      [.record("")], [.ignore("A\nB")], [.record(String(repeating: "x", count: 2_048))],
    ] {
      XCTAssertThrowsError(try Allocations.start(recording: .swiftObjects, rules)) { error in
        XCTAssertEqual(error as? Allocations.StartError, .invalidRules)
      }
    }
  }

  func testWhileStoppedThereIsNoCountAndAfterwardsWhatWasBornThenIsMissing() throws {
    final class Paused: Tracked { var value = 1 }
    var before: Paused? = made { Paused() }
    Allocations.stop()
    let between = made { Paused() }
    XCTAssertEqual(
      reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: Paused.self) }, .stopped)
    XCTAssertEqual(try row("LifespanTests.RecordingTests.Paused")?.persistentCount, 1)
    before = nil
    XCTAssertEqual(try row("LifespanTests.RecordingTests.Paused")?.persistentCount, 0, "deaths stay recorded")
    try Allocations.start(recording: .swiftObjects, Self.rules)
    XCTAssertEqual(try Allocations.liveCount(of: Paused.self), 0)
    guard case .partial(let why) = Allocations.capture else { return XCTFail("the capture is not partial") }
    XCTAssertNotNil(
      why.firstMatch(of: /^recording was stopped .*between [0-9.]+ s and [0-9.]+ s: objects born then/), why)
    withExtendedLifetime((before, between)) {}
  }

  func testStatisticsAreFilteredByLifespan() throws {
    final class Gone { var value = 1 }
    final class Here { var value = 1 }
    let goneName = "LifespanTests.RecordingTests.Gone"
    let hereName = "LifespanTests.RecordingTests.Here"
    _ = made { Gone() }
    let here = made { Here() }
    func names(_ filter: Allocations.LifespanFilter) throws -> Set<String> {
      Set(try Allocations.statistics(filter).map(\.type)).intersection([goneName, hereName])
    }
    XCTAssertEqual(try names(.all), [goneName, hereName])
    XCTAssertEqual(try names(.living), [hereName])
    XCTAssertEqual(try names(.destroyed), [goneName])
    withExtendedLifetime(here) {}
  }

  func testARowHasWhatWasBornWhatLivesAndWhatDied() throws {
    final class Counted { var value = (1, 2) }
    var objects = (0..<9).map { _ in Counted() }
    objects.removeLast(5)
    let row = try XCTUnwrap(row("LifespanTests.RecordingTests.Counted"))
    XCTAssertEqual([row.totalCount, row.persistentCount, row.transientCount], [9, 4, 5])
    XCTAssertEqual([row.totalBytes, row.persistentBytes], [9 * 32, 4 * 32])
    withExtendedLifetime(objects) {}
  }

  func testNoRowHasMoreLivingThanWereBorn() throws {
    let rows = try Allocations.statistics(.all)
    XCTAssertGreaterThan(rows.count, 10)
    for row in rows {
      XCTAssertGreaterThanOrEqual(row.persistentCount, 0, row.type)
      XCTAssertGreaterThanOrEqual(row.transientCount, 0, row.type)
      XCTAssertLessThanOrEqual(row.persistentBytes, row.totalBytes, row.type)
    }
  }
}
