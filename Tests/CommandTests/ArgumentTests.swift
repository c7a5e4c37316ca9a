// The command line as a user meets it: help, version, wrong usage. Runs the built command.

import XCTest

final class ArgumentTests: CommandTestCase {
  /// Wrong usage is one line that holds `words`, and 64.
  private func assertWrongUsage(_ result: CommandResult, _ words: String, line: UInt = #line) {
    XCTAssertEqual(result.status, 64, line: line)
    XCTAssertEqual(result.output, "", line: line)
    XCTAssertEqual(result.errorLines.count, 1, result.errors, line: line)
    XCTAssertTrue(result.errors.contains(words), result.errors, line: line)
  }

  func testAnUnknownOptionNamesTheNearest() throws {
    assertWrongUsage(try run("record", "--pauesd", "--", "true"), "did you mean '--paused'")
  }

  func testAnUnknownCommandNamesTheNearest() throws {
    assertWrongUsage(try run("recrod"), "did you mean 'record'")
  }

  func testOptionsOfLaterVersionsAreUnknown() throws {
    assertWrongUsage(try run("record", "--of-a-later-version", "--", "true"), "unknown option")
  }

  func testAMissingProgramIsWrongUsage() throws {
    assertWrongUsage(try run("record", "--paused"), "PROGRAM")
    assertWrongUsage(try run("record", "--paused", "--"), "PROGRAM")
    assertWrongUsage(try run(), "a command")
  }

  func testBadValuesSayWhatIsExpected() throws {
    assertWrongUsage(try run("record", "--depth", "0", "--", "true"), "from 1 to 1024")
    assertWrongUsage(try run("record", "--depth", "-1", "--", "true"), "from 1 to 1024")
    assertWrongUsage(try run("record", "--unwind=fast", "--", "true"), "auto, fp, libunwind, none")
    assertWrongUsage(try run("record", "--mark-signal", "KILL", "--", "true"), "a signal")
    assertWrongUsage(try run("record", "--buffer=1Q", "--", "true"), "64K")
    assertWrongUsage(try run("record", "--record=", "--", "true"), "a pattern")
    assertWrongUsage(try run("record", "-o"), "needs a value")
    assertWrongUsage(try run("record", "-o", "--", "true"), "needs a value")
    assertWrongUsage(try run("record", "--paused=1", "--", "true"), "takes no value")
    assertWrongUsage(try run("record", "--depth=1", "--depth=2", "--", "true"), "twice")
    assertWrongUsage(try run("start", "x"), "a PID")
    assertWrongUsage(try run("mark", "a", "b"), "PID NAME")
    assertWrongUsage(try run("list", "all"), "unexpected 'all'")
  }

  func testHelpListsEveryCommandAndEachHasItsOwn() throws {
    let help = try run("--help")
    XCTAssertEqual(help.status, 0)
    for name in ["record", "list", "start", "stop", "mark", "doctor"] {
      XCTAssertTrue(help.output.contains("\n  \(name) "), name)
      let own = try run(name, "--help")
      XCTAssertEqual(own.status, 0)
      XCTAssertTrue(own.output.hasPrefix("usage: lifespan \(name) "), own.output)
    }
  }

  func testRecordHelpListsEveryVariable() throws {
    let help = try run("record", "--help").output
    XCTAssertTrue(help.contains("LIFESPAN_SESSION  "))
    XCTAssertTrue(help.contains("LIFESPAN_PRELOAD  "))
  }

  func testHelpFitsAHundredColumns() throws {
    for name in ["record", "list", "start", "stop", "mark", "doctor"] {
      for line in try run(name, "--help").output.split(separator: "\n") {
        XCTAssertLessThanOrEqual(line.count, 100, "\(line)")
      }
    }
  }

  func testVersionIsOneLine() throws {
    let version = try run("--version")
    XCTAssertEqual(version.status, 0)
    XCTAssertTrue(version.output.hasPrefix("lifespan "))
    for name in ["record", "list", "start", "stop", "mark", "stats", "generations", "diff", "objects", "history"] {
      XCTAssertEqual(try run(name, "--version").output, version.output, name)
    }
    XCTAssertNotEqual(try run("record", "--", "echo", "--version").output, version.output)
  }
}
