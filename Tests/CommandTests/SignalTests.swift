// Signals and the terminal under `record`: once from a terminal, passed on when sent to `record` alone, Ctrl-Z, pid 1.

import Foundation
import XCTest

final class SignalTests: CommandTestCase {
  func testASignalSentToRecordAloneIsPassedOn() throws {
    for name in ["USR1", "INT", "TERM", "HUP", "QUIT", "WINCH", "RTMIN+1"] {
      let script = "trap 'echo got; exit 3' \(name); echo up; while :; do read -t 60 line || exit 9; done"
      let running = try start(["record", "--", "bash", "-c", script], adding: FakeRecorder.environment())
      XCTAssertEqual(running.readLine(), "up")
      let sent = try start(["-c", "kill -\(name) \(running.pid)"], executable: "/bin/bash").finish()
      XCTAssertEqual(sent.status, 0)
      XCTAssertEqual(running.readLine(), "got", name)
      XCTAssertEqual(try running.finish().status, 3, name)
    }
  }

  /// Types keys when cues appear; gives the output and the exit status.
  private func terminal(_ typed: [String], _ program: [String]) throws -> CommandResult {
    try start(
      typed + ["--"] + program, executable: FakeRecorder.path("terminal"), adding: FakeRecorder.environment()
    ).finish()
  }

  func testControlCReachesTheProgramOnce() throws {
    // After the signal the program asks `record` twice: a signal that it passed on would have come before the second answer.
    let script = """
      n=0; trap 'n=$((n+1))' INT; echo up; while [ $n = 0 ]; do read -t 1 line; done
      "$0" list >/dev/null; "$0" list >/dev/null; echo "n=$n"; exit 5
      """
    let result = try terminal(["up", "\u{3}"], [Self.command, "record", "--", "bash", "-c", script, Self.command])
    XCTAssertTrue(result.output.contains("n=1\r\n"), result.output)
    XCTAssertEqual(result.status, 5, result.output)
  }

  func testControlCEndsAProgramThatDoesNotHandleIt() throws {
    let result = try terminal(["up", "\u{3}"], [Self.command, "record", "--", "bash", "-c", "echo up; read line"])
    XCTAssertEqual(result.status, 130, result.output)
    XCTAssertTrue(result.output.contains(": 4 events, 0 lost."), result.output)
  }

  func testControlZStopsBothAndTheyGoOnTogether() throws {
    let inner = "echo up; until [ -e go ]; do sleep 0.02; done; echo went on; exit 6"
    let script = """
      set -m; \(Self.command) record -- bash -c '\(inner)'; echo "stopped with $?"; ps -o stat=,comm=; touch go
      fg; echo "ended with $?"
      """
    let result = try terminal(["up", "\u{1a}"], ["bash", "--norc", "-c", script])
    // As the shell says of any job that Ctrl-Z stopped: 128 + SIGTSTP.
    XCTAssertTrue(result.output.contains("stopped with 148"), result.output)
    XCTAssertTrue(result.output.contains("went on\r\n"), result.output)
    XCTAssertTrue(result.output.contains("ended with 6"), result.output)
    let stopped = result.output.split(whereSeparator: \.isNewline).filter { $0.hasPrefix("T") }
    XCTAssertTrue(
      stopped.contains { $0.hasSuffix("lifespan") } && stopped.contains { $0.hasSuffix("bash") }, result.output)
  }

  func testRecordWorksAsProcessOne() throws {
    let unshare = ["--fork", "--pid", "--mount-proc"]
    let probe = try start(unshare + ["true"], executable: "/usr/bin/unshare").finish()
    try XCTSkipIf(probe.status != 0, "no right to make a pid namespace")
    // An orphan that `record` inherits must be reaped, not left a zombie, and not taken for the program.
    let script = """
      echo $PPID; (exit 9 &); trap 'echo got; exit 4' TERM; ( trap - TERM; kill -TERM 1 ) & while :; do read -t 60 x || exit 8; done
      """
    let result = try start(
      unshare + [Self.command, "record", "--", "bash", "-c", script], executable: "/usr/bin/unshare",
      adding: FakeRecorder.environment())
    XCTAssertEqual(result.readLine(), "1")
    XCTAssertEqual(result.readLine(), "got")
    XCTAssertEqual(try result.finish().status, 4)
  }
}
