// A saved recording, read back as the command line reads it, gives the answers of the process.
import Foundation
import Lifespan
import LifespanAnalysis
import LifespanTrace
import XCTest

final class SaveTests: RecordedTestCase {
  final class Record: Tracked { var value = 1 }
  final class Index: Tracked { var value = (1, 2, 3) }

  private func path(_ name: String) -> String {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).\(name)").path
    addTeardownBlock { try? FileManager.default.removeItem(atPath: path) }
    return path
  }

  func testTheSavedFileGivesTheSameStatistics() throws {
    var records = (0..<40).map { _ in Record() }
    records.removeLast(15)
    let indexes = (0..<6).map { _ in Index() }
    let path = path("statistics.lifespan")
    try Allocations.save(to: path)
    let here = try Allocations.statistics(.all).filter { $0.type.hasPrefix("LifespanTests.SaveTests.") }
    let saved = try Analysis(Trace(path: path)).answer(StatisticsQuestion(lifespan: .all))
    for name in ["Record", "Index"] {
      let full = "LifespanTests.SaveTests.\(name)"
      let mine = try XCTUnwrap(here.first { $0.type == full })
      let theirs = try XCTUnwrap(saved.rows.first { $0.type.name == full }).tally
      XCTAssertEqual(theirs.persistentCount, mine.persistentCount)
      XCTAssertEqual(theirs.transientCount, mine.transientCount)
      XCTAssertEqual(theirs.totalCount, mine.totalCount)
      XCTAssertEqual(Int(theirs.persistentBytes.rawValue), mine.persistentBytes)
      XCTAssertEqual(Int(theirs.totalBytes.rawValue), mine.totalBytes)
    }
    XCTAssertEqual(here.first { $0.type.hasSuffix(".Record") }?.persistentCount, 25)
    withExtendedLifetime((records, indexes)) {}
  }

  func testTheSavedFileGivesTheSameGrowth() throws {
    final class Grown { var value = 1 }
    Allocations.markGeneration("SaveTests begins")
    let objects = (0..<13).map { _ in Grown() }
    Allocations.markGeneration("SaveTests ends")
    let path = path("growth.lifespan")
    try Allocations.save(to: path)
    let saved = try Analysis(Trace(path: path)).answer(GenerationsQuestion())
    let generation = try XCTUnwrap(saved.closed.last { $0.name == "SaveTests ends" })
    XCTAssertEqual(generation.rows.first { $0.type.name == "LifespanTests.SaveTests.Grown" }?.persistentCount, 13)
    withExtendedLifetime(objects) {}
  }

  func testTheSavedFileGivesTheSameHistory() throws {
    let object = made { Record() }
    let unmanaged = Unmanaged.passUnretained(object)
    for _ in 0..<4 { _ = unmanaged.retain() }
    let here = Allocations.history(of: object)
    let path = path("history.lifespan")
    try Allocations.save(to: path)
    for _ in 0..<4 { unmanaged.release() }
    let address = ObjectAddress(here.address.rawValue)
    let saved = try Analysis(Trace(path: path)).history(of: .address(address)).events
    XCTAssertGreaterThan(here.events.count, 4)
    XCTAssertGreaterThanOrEqual(saved.count, here.events.count, "all that was known, and what the save itself does")
    for (mine, theirs) in zip(here.events, saved) {
      XCTAssertEqual(theirs.countAfter, mine.countAfter)
      XCTAssertEqual(theirs.thread.rawValue, mine.thread.rawValue)
    }
  }

  func testTheSavedFileSaysHowManyOlderEventsOfItsObjectsAreMissing() throws {
    let object = made { Record() }
    let unmanaged = Unmanaged.passUnretained(object)
    for _ in 0..<4 { _ = unmanaged.retain() }
    for _ in 0..<4 { unmanaged.release() }
    for _ in 0..<40_000 { _ = made { Index() } }  // two events each; 65,536 are kept
    let dropped = Allocations.history(of: object).dropped
    XCTAssertGreaterThanOrEqual(dropped, 9, "its birth, retains and releases")
    let path = path("dropped.lifespan")
    try Allocations.save(to: path)
    let missing = try Analysis(Trace(path: path)).information().olderEventsDropped
    XCTAssertGreaterThanOrEqual(missing, UInt64(dropped - 1), "the birth is told again")
    withExtendedLifetime(object) {}
  }

  func testTheSavedFileSaysThatTheRecordingWasStopped() throws {
    Allocations.stop()
    try startRecording()
    guard case .partial(let reason) = Allocations.capture else { return XCTFail("the capture is not partial") }
    let path = path("stopped.lifespan")
    try Allocations.save(to: path)
    let information = try Analysis(Trace(path: path)).information()
    XCTAssertEqual(information.capture, .partial)
    XCTAssertEqual(information.captureReason, reason)
    XCTAssertTrue(information.wasPaused)
  }

  func testADeviceIsWrittenToAndAFullOneSaysSo() throws {
    XCTAssertThrowsError(try Allocations.save(to: "/dev/full")) { error in
      XCTAssertEqual("\(error)", "/dev/full: No space left on device")
    }
    XCTAssertNoThrow(try Allocations.save(to: "/dev/null"))
    let type = try FileManager.default.attributesOfItem(atPath: "/dev/full")[.type] as? FileAttributeType
    XCTAssertEqual(type, .typeCharacterSpecial)
  }

  func testTheTargetOfALinkIsWrittenNotTheLinkReplaced() throws {
    let file = path("target.lifespan")
    let link = path("latest.lifespan")
    try Data().write(to: URL(fileURLWithPath: file))
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file)
    try Allocations.save(to: link)
    XCTAssertEqual(try FileManager.default.destinationOfSymbolicLink(atPath: link), file)
    XCTAssertNoThrow(try Trace(path: file))
  }

  func testAPathThatCannotBeWrittenIsNamedAndAnOldFileIsUnharmed() throws {
    let path = path("here.lifespan")
    try Data("before".utf8).write(to: URL(fileURLWithPath: path))
    XCTAssertThrowsError(try Allocations.save(to: path + "/below")) { error in
      XCTAssertEqual("\(error)", "\(path)/below: Not a directory")
    }
    XCTAssertEqual(try String(contentsOfFile: path, encoding: .utf8), "before")
    try Allocations.save(to: path)
    XCTAssertNoThrow(try Trace(path: path))
  }
}
