// `lifespan doctor`: what can be recorded and why not.

import Foundation
import XCTest

final class DoctorTests: CommandTestCase {
  private func doctor(_ words: String...) throws -> (status: Int32, document: [String: Any]) {
    let result = try start(["doctor", "--json"] + words, adding: FakeRecorder.environment()).finish()
    let document = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any]
    return (result.status, document ?? [:])
  }

  func testThisMachineCanBeRecorded() throws {
    let (status, document) = try doctor()
    XCTAssertEqual(status, 0, "\(document)")
    XCTAssertEqual(document["can_record"] as? Bool, true)
    XCTAssertEqual(document["capture"] as? String, "complete")
  }

  func testALibraryThatIsNoneOfOursIsSaid() throws {
    let result = try run("doctor", adding: ["LIFESPAN_PRELOAD": "/nowhere.so"])
    XCTAssertEqual(result.status, 1)
    XCTAssertTrue(result.output.contains("/nowhere.so"), result.output)
    XCTAssertTrue(result.output.hasSuffix("This machine cannot be recorded.\n"), result.output)
  }

  func testADynamicSwiftProgramCanBeRecorded() throws {
    let (status, document) = try doctor(Self.command)
    XCTAssertEqual(status, 0, "\(document)")
    XCTAssertEqual(document["runtime"] as? String, "dynamic")
    XCTAssertEqual(document["program"] as? String, "lifespan")
    XCTAssertEqual(document["path"] as? String, Self.command)
    let lines = (document["checks"] as? [[String: Any]])?.first { $0["name"] as? String == "line tables" }
    XCTAssertEqual(lines?["state"] as? String, "ok")
    XCTAssertTrue(lines?["cure"] is NSNull, "\(document)")
  }

  func testAProgramWithoutLineTablesIsRecordedWithLess() throws {
    let (_, document) = try doctor("plutil")
    let lines = (document["checks"] as? [[String: Any]])?.first { $0["name"] as? String == "line tables" }
    XCTAssertEqual(lines?["state"] as? String, "limited")
    XCTAssertEqual(lines?["detail"] as? String, "none in it: frames have functions alone")
    XCTAssertTrue((lines?["cure"] as? String)?.contains("-g") ?? false)
  }

  func testTheHelpSaysWhatTheStatusMeans() throws {
    let help = try run("doctor", "--help").output
    XCTAssertTrue(help.contains("0 it can be recorded, 1 it cannot"), help)
  }

  func testAStaticProgramCannot() throws {
    let (status, document) = try doctor(try FakeRecorder.path("static"))
    XCTAssertEqual(status, 1)
    XCTAssertEqual(document["can_record"] as? Bool, false)
    XCTAssertEqual(document["capture"] as? String, "none")
  }

  func testAProgramWithoutARuntimeCannot() throws {
    let (status, document) = try doctor("ls")
    XCTAssertEqual(status, 1)
    XCTAssertEqual(document["runtime"] as? String, "none")
  }

  func testAProgramThatIsNotThereIs127() throws {
    XCTAssertEqual(try run("doctor", "no-such-program").status, 127)
  }

  func testDamagedExecutablesAreReadWithoutHarm() throws {
    let whole = try Data(contentsOf: URL(fileURLWithPath: FakeRecorder.path("fake_recorder.so")))
    for length in [0, 3, 4, 16, 63, 64, 65, 200, 1000, whole.count - 1] {
      let file = folder.appendingPathComponent("cut")
      try whole.prefix(length).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
      XCTAssertEqual(try doctor("./cut").status, 1, "\(length) bytes")
    }
  }
}
