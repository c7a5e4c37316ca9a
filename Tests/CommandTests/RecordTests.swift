// `lifespan record` end to end with the fake recorder: the program as without us, the trace's name, what is said.

import Foundation
import XCTest

final class RecordTests: CommandTestCase {
  private func record(
    _ options: [String] = [], _ program: String..., runtime: String = "bash", adding: [String: String] = [:],
    input: String = ""
  ) throws -> CommandResult {
    let environment = try FakeRecorder.environment(runtime: runtime).merging(adding) { $1 }
    let running = try start(["record"] + options + ["--"] + program, adding: environment)
    if !input.isEmpty { running.type(input) }
    return try running.finish()
  }

  // MARK: The program as without us

  func testTheExitStatusIsTheProgramsOwn() throws {
    for status: Int32 in [0, 1, 7, 64, 126, 255] {
      XCTAssertEqual(try record([], "bash", "-c", "exit \(status)").status, status)
    }
  }

  func testASignalIsReportedAsAShellDoes() throws {
    for signal: Int32 in [SIGKILL, SIGTERM, SIGSEGV, SIGINT] {
      XCTAssertEqual(try record([], "bash", "-c", "kill -\(signal) $$").status, 128 + signal)
    }
  }

  func testStandardStreamsAreTheProgramsOwn() throws {
    let result = try record([], "bash", "-c", "cat; echo oops >&2", input: "one\ntwo\n")
    XCTAssertEqual(result.output, "one\ntwo\n")
    XCTAssertEqual(result.errorLines.count, 2, result.errors)
    XCTAssertEqual(result.errorLines.first, "oops")
  }

  func testMaskDispositionsDescriptorsAndGroupAreAsWithoutUs() throws {
    let script = """
      trap '' USR2; grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status; ls /proc/self/fd; ulimit -a; umask; pwd
      [ $(ps -o pgid= -p $$) = $(ps -o pgid= -p $PPID) ] && echo same group
      """
    let bare = try start(["-c", script], executable: "/bin/bash").finish().output
    let recorded = try record([], "/bin/bash", "-c", script).output
    XCTAssertTrue(recorded.hasSuffix("same group\n"))
    let plain = { (text: String) in text.replacingOccurrences(of: "same group\n", with: "") }
    XCTAssertEqual(plain(recorded), plain(bare))
  }

  func testIgnoredSignalsStayIgnored() throws {
    let script = "trap '' HUP; exec \(Self.command) record -- bash -c trap"
    let result = try start(["-c", script], executable: "/bin/bash", adding: FakeRecorder.environment()).finish()
    XCTAssertEqual(result.output, "trap -- '' SIGHUP\n")
  }

  func testTheEnvironmentHoldsThreeVariablesMore() throws {
    let result = try record([], "bash", "-c", "env", runtime: "none", adding: ["OTHER": "x y"])
    let names = result.output.split(separator: "\n").map { $0.prefix { $0 != "=" } }
    let ours: [Substring] = ["LD_PRELOAD", "LIFESPAN_SESSION", "ASAN_OPTIONS"]
    XCTAssertTrue(ours.allSatisfy(names.contains), result.output)
    XCTAssertTrue(result.output.contains("OTHER=x y\n"))
  }

  func testAClosedStandardDescriptorIsNotFilledByOurFiles() throws {
    let script = "exec \(Self.command) record -- bash -c 'echo x >&2 || echo closed; ls /proc/self/fd' 2>&-"
    let result = try start(["-c", script], executable: "/bin/bash", adding: FakeRecorder.environment()).finish()
    XCTAssertEqual(result.status, 0)
    XCTAssertTrue(result.output.hasPrefix("closed\n"), result.output)
  }

  func testAnExecutableWithoutAFormatIsAScript() throws {
    let script = folder.appendingPathComponent("plain")
    try Data("echo from sh $1\n".utf8).write(to: script)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script.path)
    XCTAssertEqual(try record([], "./plain", "arg").output, "from sh arg\n")
  }

  // MARK: What cannot be started

  func testAProgramThatIsNotThereIs127() throws {
    for name in ["no-such-program", "./no-such-program", "/no/such"] {
      let result = try record([], name)
      XCTAssertEqual(result.status, 127)
      XCTAssertEqual(result.errorLines.count, 1)
    }
    XCTAssertEqual(try traces(), [])
  }

  func testAProgramThatIsNotExecutableIs126() throws {
    try Data("x".utf8).write(to: folder.appendingPathComponent("data"))
    for name in ["./data", "/"] {
      let result = try record([], name)
      XCTAssertEqual(result.status, 126)
      XCTAssertEqual(result.errorLines.count, 1)
    }
    XCTAssertEqual(try traces(), [])
  }

  func testAnUnwritableOutputIs2BeforeTheProgramStarts() throws {
    for output in ["/nowhere/x.lifespan", folder.path, "/proc/x.lifespan", "/dev/null", "x/"] {
      let result = try record(["-o", output], "bash", "-c", "echo ran")
      XCTAssertEqual(result.status, 2, output)
      XCTAssertEqual(result.output, "", output)
      XCTAssertEqual(result.errorLines.count, 1, output)
    }
  }

  func testAMissingPreloadLibraryIs2() throws {
    let result = try record([], "bash", "-c", "echo ran", adding: ["LIFESPAN_PRELOAD": "/nowhere.so"])
    XCTAssertEqual(result.status, 2)
    XCTAssertEqual(result.output, "")
    XCTAssertEqual(try traces(), [])
  }

  // MARK: What cannot be recorded

  func testAStaticExecutableRunsAndOneLineSaysWhy() throws {
    let result = try record([], try FakeRecorder.path("static"))
    XCTAssertEqual(result.status, 0)
    XCTAssertEqual(result.output, "ran\n")
    XCTAssertEqual(result.errorLines.count, 1, result.errors)
    XCTAssertTrue(result.errors.contains("static executable"), result.errors)
    XCTAssertTrue(result.errors.contains("link Lifespan"), result.errors)
    XCTAssertEqual(try traces(), [])
  }

  func testAProgramWithoutARuntimeLeavesNoFile() throws {
    let result = try record(["--swift-only"], "ls", "/dev/null")
    XCTAssertEqual(result.status, 0)
    XCTAssertEqual(result.output, "/dev/null\n")
    XCTAssertEqual(result.errorLines.count, 1)
    XCTAssertTrue(result.errors.contains("nothing recorded: ls has no Swift runtime"), result.errors)
    XCTAssertEqual(try traces(), [])
  }

  func testARuntimeThatCannotBeHookedSaysItsReason() throws {
    let reason = ["FAKE_REASON": "its Swift runtime is stripped"]
    let result = try record(["--swift-only"], "bash", "-c", "echo ran", adding: reason)
    XCTAssertEqual(result.output, "ran\n")
    XCTAssertTrue(result.errors.contains("nothing recorded: bash: its Swift runtime is stripped"), result.errors)
    XCTAssertEqual(try traces(), [])
  }

  // MARK: The trace

  func testOneLineAfterSaysWhatWasRecordedAndWhatIsNext() throws {
    let result = try record([], "bash", "-c", "echo $$")
    let pid = result.output.trimmingCharacters(in: .newlines)
    XCTAssertEqual(result.errors, "bash.\(pid).lifespan: 4 events, 0 lost. Next: lifespan stats\n")
    XCTAssertEqual(try traces(), ["bash.\(pid).lifespan"])
  }

  func testATakenNameIsNeverOverwritten() throws {
    for name in ["t.lifespan", "t-2.lifespan", "t-3.lifespan"] {
      XCTAssertTrue(try record(["-o", "t.lifespan"], "bash", "-c", "exit").errors.hasPrefix(name + ": "))
    }
    XCTAssertEqual(try traces(), ["t-2.lifespan", "t-3.lifespan", "t.lifespan"])
  }

  func testForceOverwrites() throws {
    let file = folder.appendingPathComponent("t.lifespan")
    try Data("old".utf8).write(to: file)
    XCTAssertTrue(try record(["-o", "t.lifespan", "--force"], "bash", "-c", "exit").errors.hasPrefix("t.lifespan: "))
    XCTAssertEqual(try traces(), ["t.lifespan"])
    XCTAssertEqual(try Data(contentsOf: file).prefix(8), Data("LIFESPAN".utf8))
  }

  func testAnOutputInAnotherFolderIsNamedInTheNextCommand() throws {
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("out"), withIntermediateDirectories: false)
    let result = try record(["-o", "out/%p.lifespan"], "bash", "-c", "echo $$")
    let pid = result.output.trimmingCharacters(in: .newlines)
    XCTAssertTrue(result.errors.hasSuffix("Next: lifespan stats out/\(pid).lifespan\n"), result.errors)
  }

  func testAFullDiskCutsTheTraceAndLeavesTheProgramAlone() throws {
    let script = """
      mkdir small && mount -t tmpfs -o size=8k tmpfs small && head -c 8192 /dev/zero > small/fill &&
      exec \(Self.command) record -o small/t.lifespan -- bash -c 'echo ran; exit 3'
      """
    let unshare = ["--mount", "bash", "-c", script]
    let probe = try start(["--mount", "true"], executable: "/usr/bin/unshare").finish()
    try XCTSkipIf(probe.status != 0, "no right to mount")
    let result = try start(unshare, executable: "/usr/bin/unshare", adding: FakeRecorder.environment()).finish()
    XCTAssertEqual(result.output, "ran\n")
    XCTAssertEqual(result.status, 3)
    XCTAssertEqual(result.errorLines.count, 1, result.errors)
    XCTAssertTrue(result.errors.contains("small/t.lifespan is cut: No space left on device"), result.errors)
  }

  func testAProgramBelowWrappersIsRecorded() throws {
    let result = try record([], "timeout", "60", "env", "X=1", "sh", "-c", "bash -c 'exit 3'; exit $?")
    XCTAssertEqual(result.status, 3)
    XCTAssertTrue(result.errors.contains(": 4 events, 0 lost."), result.errors)
    XCTAssertEqual(try traces().count, 1)
  }

  func testAnExecGoesOnInANewTrace() throws {
    let script = "[ $1 = 3 ] && exit 5; exec bash -c \"$0\" \"$0\" $(($1 + 1))"
    let result = try record(["--force"], "bash", "-c", script, script, "1")
    XCTAssertEqual(result.status, 5)
    XCTAssertEqual(try traces().count, 3, result.errors)
    XCTAssertTrue(result.errors.contains(": 12 events, 0 lost."), result.errors)
  }

  func testARecordedProcessThatOutlivesItsWrapperIsRecordedToItsEnd() throws {
    let fifo = folder.appendingPathComponent("fifo").path
    mkfifo(fifo, 0o600)
    // The shell ends once the program is up; the program waits for a line from the test.
    let running = try start(
      ["record", "--", "sh", "-c", "{ bash -c 'echo up; read line' <&3 & } 3<&0; read x < \(fifo); exit 6"],
      adding: FakeRecorder.environment())
    XCTAssertEqual(running.readLine(), "up")
    try Data("go\n".utf8).write(to: URL(fileURLWithPath: fifo))
    running.type("end\n")
    let result = try running.finish()
    XCTAssertEqual(result.status, 6)
    XCTAssertTrue(result.errors.contains(": 4 events, 0 lost."), result.errors)
  }

  func testTheSocketIsGoneAfterwards() throws {
    _ = try record([], "bash", "-c", "exit")
    let sockets = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/lifespan")
    XCTAssertEqual(sockets, [])
  }
}
