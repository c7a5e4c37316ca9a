// Which process of a tree is recorded.

import XCTest

@testable import LifespanCommand

final class RecordingChoiceTests: XCTestCase {
  private func facts(_ executable: String, _ words: String...) -> ProcessFacts {
    ProcessFacts(executable: executable, arguments: words)
  }
  private let bin = "/opt/swift/usr/bin/"

  func testTheFirstProcessWithARuntimeIsTheProgram() {
    var choice = RecordingChoice()
    let app = facts("/w/App", "./App")
    let tool = facts("/bin/ls", "ls")
    XCTAssertEqual(choice.decide(pid: 1, facts: tool, runtime: .none), .record(.own))
    XCTAssertEqual(choice.decide(pid: 4, facts: tool, runtime: .none, running: [1: .own]), .pass)
    XCTAssertEqual(choice.decide(pid: 2, facts: app, runtime: .hooked, running: [1: .own]), .record(.program))
    XCTAssertEqual(choice.decide(pid: 3, facts: app, runtime: .hooked, running: [2: .program]), .off)
    XCTAssertEqual(choice.decide(pid: 4, facts: tool, runtime: .none, running: [2: .program]), .off)
    // After it has ended nobody else takes its place.
    XCTAssertEqual(choice.decide(pid: 5, facts: app, runtime: .hooked), .pass)
    XCTAssertEqual(choice.decide(pid: 1, facts: tool, runtime: .none), .pass)
  }

  func testAnExecOfTheProgramGoesOnInANewTrace() {
    var choice = RecordingChoice()
    let app = facts("/w/App", "./App")
    XCTAssertEqual(choice.decide(pid: 2, facts: app, runtime: .hooked), .record(.program))
    XCTAssertEqual(
      choice.decide(pid: 2, facts: facts("/bin/sh", "sh"), runtime: .none, running: [2: .program]), .pass)
    XCTAssertEqual(choice.decide(pid: 2, facts: app, runtime: .hooked), .record(.program))
    XCTAssertEqual(choice.decide(pid: 2, facts: app, runtime: .hooked, running: [2: .program]), .record(.program))
  }

  func testWithoutARuntimeAWrapperStandsForWhatItStarts() {
    var choice = RecordingChoice()
    let python = facts("/usr/bin/python3.11", "python3", "x.py")
    XCTAssertEqual(choice.decide(pid: 1, facts: facts("/usr/bin/env", "env", "sh"), runtime: .none), .record(.wrapper))
    let shell = facts("/usr/bin/dash", "sh", "-ec", "python3 x.py")
    XCTAssertEqual(choice.decide(pid: 1, facts: shell, runtime: .none, running: [1: .wrapper]), .record(.wrapper))
    XCTAssertEqual(
      choice.decide(pid: 2, facts: facts("/usr/bin/nice", "nice"), runtime: .none, running: [1: .wrapper]), .pass)
    XCTAssertEqual(choice.decide(pid: 2, facts: python, runtime: .none, running: [1: .wrapper]), .record(.below))
    XCTAssertEqual(choice.decide(pid: 3, facts: python, runtime: .none, running: [2: .below]), .pass)
    XCTAssertEqual(choice.decide(pid: 2, facts: python, runtime: .none, running: [2: .below]), .record(.below))
    XCTAssertEqual(choice.decide(pid: 4, facts: python, runtime: .none), .record(.below))
    // What the shell executes in its own place is one of its commands.
    XCTAssertEqual(choice.decide(pid: 1, facts: python, runtime: .none), .record(.below))
    var other = RecordingChoice()
    XCTAssertEqual(other.decide(pid: 1, facts: shell, runtime: .none), .record(.wrapper))
    XCTAssertEqual(other.decide(pid: 1, facts: python, runtime: .none), .record(.own))
    XCTAssertEqual(other.decide(pid: 5, facts: python, runtime: .none), .pass)
  }

  func testWhatIsOnlyTheWayToAProgramLeavesNoTrace() {
    func isPassage(
      _ facts: ProcessFacts, _ standing: RecordingChoice.Standing = .own, marks: UInt64 = 0, seconds: UInt64 = 0
    ) -> Bool {
      RecordingChoice.isPassage(facts, standing, marks: marks, nanoseconds: seconds * 1_000_000_000)
    }
    let shim = facts("/usr/bin/bash", "bash", "/home/x/shims/python3"), env = facts("/usr/bin/env", "env", "bash")
    let proxy = facts("/home/x/bin/rustup", "cargo", "build")
    for one in [shim, env, proxy] {
      XCTAssertTrue(isPassage(one))
      XCTAssertTrue(isPassage(one, .below))
      XCTAssertFalse(isPassage(one, .program))
      XCTAssertFalse(isPassage(one, marks: 1))
      XCTAssertTrue(isPassage(one, .wrapper, marks: 1, seconds: 100))
    }
    XCTAssertTrue(isPassage(shim, seconds: 100))
    XCTAssertTrue(isPassage(proxy, seconds: 9))
    XCTAssertFalse(isPassage(proxy, seconds: 10))
  }

  func testAShellThatRunsAScriptIsAProgram() {
    for words in [
      ["bash", "build.sh"], ["sh"], ["bash", "-e", "x.sh", "-c"], ["bash", "-o", "posix", "x.sh"], ["sh", "-"],
    ] {
      var choice = RecordingChoice()
      let shell = ProcessFacts(executable: "/usr/bin/bash", arguments: words)
      XCTAssertEqual(choice.decide(pid: 1, facts: shell, runtime: .none), .record(.own), words.joined(separator: " "))
      XCTAssertEqual(choice.decide(pid: 2, facts: facts("/bin/ls", "ls"), runtime: .none), .pass)
    }
  }

  func testSwiftOnlyLeavesProgramsWithoutARuntimeAlone() {
    var choice = RecordingChoice(blocks: false)
    XCTAssertEqual(choice.decide(pid: 1, facts: facts("/bin/sh", "sh", "-c", "App"), runtime: .none), .pass)
    XCTAssertEqual(choice.decide(pid: 1, facts: facts("/w/Static", "Static"), runtime: .unhookable), .pass)
    XCTAssertEqual(choice.decide(pid: 2, facts: facts("/w/App", "App"), runtime: .hooked), .record(.program))
  }

  func testARuntimeThatCannotBeHookedIsAProgramAllTheSame() {
    var choice = RecordingChoice()
    XCTAssertEqual(choice.decide(pid: 1, facts: facts("/w/Static", "Static"), runtime: .unhookable), .record(.program))
  }

  func testARuntimeThatComesLateDecides() {
    var choice = RecordingChoice()
    let python = facts("/usr/bin/python3.11", "python3", "x.py")
    let app = facts("/w/App", "./App")
    XCTAssertEqual(choice.decide(pid: 1, facts: python, runtime: .none), .record(.own))
    choice.becameProgram(pid: 1)
    XCTAssertEqual(choice.decide(pid: 2, facts: app, runtime: .hooked, running: [1: .program]), .off)
    XCTAssertEqual(choice.decide(pid: 2, facts: app, runtime: .hooked), .pass)
  }

  func testWithChildrenEveryProcessIsRecorded() {
    var choice = RecordingChoice(children: true)
    let app = facts("/w/App", "./App")
    let shell = facts("/bin/sh", "sh", "-c", "App")
    XCTAssertEqual(choice.decide(pid: 1, facts: shell, runtime: .none), .record(.program))
    XCTAssertEqual(choice.decide(pid: 2, facts: app, runtime: .hooked, running: [1: .program]), .record(.program))
    var swiftAlone = RecordingChoice(blocks: false, children: true)
    XCTAssertEqual(swiftAlone.decide(pid: 1, facts: shell, runtime: .none), .pass)
    XCTAssertEqual(swiftAlone.decide(pid: 2, facts: app, runtime: .hooked), .record(.program))
  }

  func testSwiftRunRecordsTheProductAlone() {
    var choice = RecordingChoice()
    func ask(_ pid: Int32, _ facts: ProcessFacts) -> RecordingChoice.Decision {
      choice.decide(pid: pid, facts: facts, runtime: .hooked)
    }
    XCTAssertEqual(ask(10, facts(bin + "swift-driver", "swift", "run", "App")), .pass)
    XCTAssertEqual(ask(10, facts(bin + "swift-package", bin + "swift-run", "App")), .pass)
    XCTAssertEqual(ask(11, facts(bin + "swift-frontend", bin + "swift-frontend", "-c")), .pass)
    XCTAssertEqual(ask(12, facts("/tmp/x/app-manifest", "app-manifest")), .pass)
    XCTAssertEqual(ask(13, facts("/w/.build/debug/Macros-tool", "Macros-tool")), .pass)
    XCTAssertEqual(ask(10, facts("/w/.build/debug/App", "App")), .record(.program))
  }

  func testSwiftTestRecordsTheBundleOncePerLibrary() {
    var choice = RecordingChoice()
    let bundle = "/w/.build/debug/AppPackageTests.xctest"
    func ask(_ pid: Int32, _ facts: ProcessFacts) -> RecordingChoice.Decision {
      choice.decide(pid: pid, facts: facts, runtime: .hooked)
    }
    XCTAssertEqual(ask(10, facts(bin + "swift-package", "swift-test")), .pass)
    XCTAssertEqual(ask(12, facts("/tmp/x/app-manifest", "app-manifest")), .pass)
    XCTAssertEqual(ask(13, facts(bundle, bundle, "--dump-tests-json")), .pass)
    XCTAssertEqual(ask(14, facts(bundle, bundle)), .record(.program))
    XCTAssertEqual(ask(15, facts(bundle, bundle)), .pass)
    XCTAssertEqual(ask(16, facts(bundle, bundle, "--testing-library", "swift-testing")), .record(.program))
  }

  func testSwiftPackageIsItselfTheProgram() {
    var choice = RecordingChoice()
    func ask(_ pid: Int32, _ facts: ProcessFacts) -> RecordingChoice.Decision {
      choice.decide(pid: pid, facts: facts, runtime: .hooked)
    }
    XCTAssertEqual(ask(10, facts(bin + "swift-driver", "swift", "package", "describe")), .pass)
    XCTAssertEqual(ask(11, facts(bin + "swift-frontend", "swiftc")), .pass)
    XCTAssertEqual(ask(10, facts(bin + "swift-package", bin + "swift-package", "describe")), .record(.program))
  }

  func testOtherToolsOfTheToolchainAreRecorded() {
    for words in [
      ["swift-format", "format", "x.swift"], ["docc", "convert"], ["plutil", "-p"], ["swiftc", "x.swift"],
    ] {
      var choice = RecordingChoice()
      let tool = ProcessFacts(executable: bin + words[0], arguments: words)
      XCTAssertEqual(choice.decide(pid: 1, facts: tool, runtime: .hooked), .record(.program), words[0])
    }
  }
}
