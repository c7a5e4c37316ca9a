// list, mark, start and stop against a running `record`, and the privacy of its socket.

import Foundation
import XCTest

final class SessionTests: CommandTestCase {
  /// A recorded program that says that it is up, and ends with its stdin.
  private func startProgram(_ options: String...) throws -> (running: RunningCommand, pid: Int32) {
    let running = try start(
      ["record"] + options + ["--", "bash", "-c", "echo $$; read line; exit 0"], adding: FakeRecorder.environment())
    return (running, Int32(running.readLine()) ?? 0)
  }

  private func recordings() throws -> [[String: Any]] {
    let text = try run("list", "--json").output
    let document = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    XCTAssertEqual(document?["format"] as? Int, 1)
    return document?["recordings"] as? [[String: Any]] ?? []
  }

  func testListShowsWhatRuns() throws {
    XCTAssertEqual(try run("list").output, "no recording runs\n")
    XCTAssertEqual(try recordings().count, 0)
    let (running, pid) = try startProgram("-o", "%p.lifespan")
    let listed = try XCTUnwrap(recordings().first)
    XCTAssertEqual(listed["pid"] as? Int, Int(pid))
    XCTAssertEqual(listed["record_pid"] as? Int, Int(running.pid))
    XCTAssertEqual(listed["recording"] as? Bool, true)
    XCTAssertEqual(listed["lost"] as? Int, 0)
    let keys = ["pid", "record_pid", "program", "path", "elapsed_ns", "events", "living", "lost", "recording", "trace"]
    XCTAssertEqual(listed.keys.sorted(), keys.sorted())
    XCTAssertEqual(listed["trace"] as? String, "\(folder.path)/\(pid).lifespan")
    XCTAssertEqual(listed["program"] as? String, "bash")
    XCTAssertEqual((listed["path"] as? String)?.hasSuffix("/bash"), true)
    let table = try run("list").output.split(separator: "\n")
    XCTAssertEqual(table.count, 2)
    XCTAssertTrue(table[1].contains("recording"), String(table[1]))
    XCTAssertEqual(try running.finish().status, 0)
  }

  func testMarkPrintsTheNameOfTheGeneration() throws {
    let (running, pid) = try startProgram()
    XCTAssertEqual(try run("mark").output, "A\n")
    XCTAssertEqual(try run("mark", "logged in").output, "logged in\n")
    XCTAssertEqual(try run("mark", "\(pid)").output, "C\n")
    XCTAssertEqual(try run("mark", "\(pid)", "out").output, "out\n")
    XCTAssertEqual(try run("mark", "\(running.pid)").output, "E\n")
    let other = try run("mark", "1", "x")
    XCTAssertEqual(other.status, 2)
    XCTAssertTrue(other.errors.contains("\(pid) ("), other.errors)
    XCTAssertEqual(try running.finish().status, 0)
  }

  /// Runs it; its document has exactly the members that JSON.md shows for `title`.
  private func document(_ words: String..., title: String, line: UInt = #line) throws -> [String: Any] {
    let result = try start(words + ["--json"]).finish()
    XCTAssertEqual(result.status, 0, result.errors, line: line)
    let value = try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any] ?? [:]
    let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("../../Sources/LifespanReport/LifespanReport.docc/JSON.md")
    let schema = try XCTUnwrap(
      String(contentsOf: page, encoding: .utf8).components(separatedBy: "```json\n")
        .compactMap { $0.components(separatedBy: "\n```").first }
        .compactMap { try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] }
        .first { $0["title"] as? String == "lifespan \(title) --json" })
    XCTAssertEqual(value.keys.sorted(), (schema["required"] as? [String])?.sorted(), line: line)
    XCTAssertEqual(value["format"] as? Int, 1, line: line)
    return value
  }

  func testMarkAsJSONTellsWhatTheTraceWillSay() throws {
    let (running, pid) = try startProgram("-o", "%p.lifespan")
    let first = try document("mark", title: "mark")
    XCTAssertEqual(first["pid"] as? Int, Int(pid))
    XCTAssertEqual(first["generation"] as? String, "A")
    XCTAssertEqual(first["number"] as? Int, 0)
    XCTAssertEqual(first["trace"] as? String, "\(folder.path)/\(pid).lifespan")
    let second = try document("mark", "\(pid)", "say \"hi\"/bye", title: "mark")
    XCTAssertEqual(second["generation"] as? String, "say \"hi\"/bye")
    XCTAssertEqual(second["number"] as? Int, 1)
    XCTAssertEqual(try running.finish().status, 0)
    let text = try run("generations", "\(pid).lifespan", "--json").output
    let read = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    let times = (read?["generations"] as? [[String: Any]])?.map { $0["timestamp_ns"] as? Int }
    XCTAssertEqual(times, [first["timestamp_ns"] as? Int, second["timestamp_ns"] as? Int])
  }

  func testANameOfTheLongestAndWorstKindFitsTheAnswer() throws {
    let (running, _) = try startProgram()
    let name = String(repeating: "\u{1}", count: 255)
    XCTAssertEqual(try document("mark", name, title: "mark")["generation"] as? String, name)
    XCTAssertEqual(try running.finish().status, 0)
  }

  func testStartAndStopAsJSON() throws {
    let (running, pid) = try startProgram("--paused")
    let on = try document("start", title: "start")
    XCTAssertEqual(on["pid"] as? Int, Int(pid))
    XCTAssertEqual([on["recording"] as? Bool, on["changed"] as? Bool], [true, true])
    XCTAssertEqual(try document("start", "\(pid)", title: "start")["changed"] as? Bool, false)
    XCTAssertEqual(try document("stop", title: "start")["recording"] as? Bool, false)
    XCTAssertEqual(try running.finish().status, 0)
  }

  func testAReportOfARunningRecordingSaysAsOfWhen() throws {
    let (running, pid) = try startProgram()
    let report = try run("stats", "\(pid)")
    XCTAssertEqual(report.status, 0, report.errors)
    XCTAssertNotNil(
      report.output.range(of: #"\(pid \d+\): as of \d+\.\d s, "#, options: .regularExpression), report.output)
    let csv = try run("stats", "\(pid)", "--format", "csv")
    XCTAssertTrue(csv.errors.contains("lifespan: the recording runs: as of "), csv.errors)
    let json = try run("stats", "\(pid)", "--json").output
    XCTAssertTrue(json.contains("\"running\":true"), json)
    XCTAssertEqual(try running.finish().status, 0)
  }

  func testStartAndStopSwitchTheRecording() throws {
    let (running, pid) = try startProgram("--paused")
    XCTAssertEqual(try recordings().first?["recording"] as? Bool, false)
    XCTAssertEqual(try run("start", "\(pid)").output, "\(pid): recording\n")
    XCTAssertEqual(try run("start").output, "\(pid): already recording\n")
    XCTAssertEqual(try run("stop").output, "\(pid): paused\n")
    XCTAssertEqual(try recordings().first?["recording"] as? Bool, false)
    XCTAssertEqual(try running.finish().status, 0)
  }

  func testAMarkWithoutANameTakesNoneThatAnotherHas() throws {
    let (running, pid) = try startProgram()
    XCTAssertEqual(try run("mark", "\(pid)", "B").output, "B\n")
    XCTAssertEqual(try run("mark", "\(pid)").output, "C\n")
    XCTAssertEqual(try run("mark", "\(pid)").output, "D\n")
    XCTAssertEqual(try run("mark", "\(pid)", "A").output, "A\n")
    XCTAssertEqual(try run("mark", "\(pid)").output, "E\n")
    XCTAssertEqual(try running.finish().status, 0)
  }

  func testWithoutAPidThereMustBeExactlyOneRecording() throws {
    let none = try run("mark")
    XCTAssertEqual(none.status, 2)
    XCTAssertTrue(none.errors.contains("no recording runs"), none.errors)
    let (first, _) = try startProgram()
    let (second, pid) = try startProgram()
    let ambiguous = try run("mark")
    XCTAssertEqual(ambiguous.status, 64)
    XCTAssertTrue(ambiguous.errors.contains("several recordings run, give the PID of one: "), ambiguous.errors)
    XCTAssertTrue(ambiguous.errors.contains("\(pid) ("), ambiguous.errors)
    XCTAssertEqual(try run("mark", "\(pid)").output, "A\n")
    XCTAssertEqual(try first.finish().status, 0)
    XCTAssertEqual(try second.finish().status, 0)
  }

  func testAProgramWithoutARuntimeIsNotYetRecorded() throws {
    let running = try start(
      ["record", "--", "sh", "-c", "echo up; read line; exit 0"], adding: FakeRecorder.environment(runtime: "none"))
    XCTAssertEqual(running.readLine(), "up")
    let result = try run("mark")
    XCTAssertEqual(result.status, 2)
    XCTAssertTrue(result.errors.contains("no Swift runtime so far"), result.errors)
    XCTAssertEqual(try running.finish().status, 0)
  }

  func testASocketWhoseCommandIsGoneIsRemoved() throws {
    let (running, pid) = try startProgram()
    kill(running.pid, SIGKILL)
    // Its end is what makes the socket refuse; that it has ended cannot be waited for while the program lives.
    var attempts = 0
    while try !recordings().isEmpty, attempts < 100 { attempts += 1 }
    XCTAssertEqual(try recordings().count, 0)
    let sockets = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/lifespan")
    XCTAssertEqual(sockets, [])
    kill(pid, SIGKILL)
    XCTAssertEqual(try running.finish().status, 128 + SIGKILL)
  }

  func testTheSocketIsOursAlone() throws {
    let (running, _) = try startProgram()
    let manager = FileManager.default
    let directory = folder.path + "/lifespan"
    XCTAssertEqual(try manager.attributesOfItem(atPath: directory)[.posixPermissions] as? Int, 0o700)
    let socket = "\(directory)/\(running.pid).sock"
    XCTAssertEqual(try manager.attributesOfItem(atPath: socket)[.posixPermissions] as? Int, 0o600)
    XCTAssertEqual(try running.finish().status, 0)
  }

  func testAFolderOfOthersOrALinkIsNotUsed() throws {
    let other = folder.appendingPathComponent("other")
    try FileManager.default.createDirectory(at: other, withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      at: folder.appendingPathComponent("lifespan"), withDestinationURL: other)
    let temporary = folder.appendingPathComponent("tmp")
    try FileManager.default.createDirectory(at: temporary, withIntermediateDirectories: false)
    let environment = try FakeRecorder.environment().merging(["TMPDIR": temporary.path]) { $1 }
    let result = try start(["record", "--", "bash", "-c", "echo $LIFESPAN_SESSION; :"], adding: environment).finish()
    XCTAssertTrue(result.output.hasPrefix("\(temporary.path)/lifespan-\(geteuid())/"), result.output)
    XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: other.path), [])
  }
}
