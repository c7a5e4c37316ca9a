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
    let shell = facts("/bin/sh", "sh")
    XCTAssertEqual(choice.decide(pid: 1, facts: shell, hasRuntime: false, recording: nil), .pass)
    XCTAssertEqual(choice.decide(pid: 2, facts: app, hasRuntime: true, recording: nil), .record)
    XCTAssertEqual(choice.decide(pid: 3, facts: app, hasRuntime: true, recording: 2), .off)
    XCTAssertEqual(choice.decide(pid: 4, facts: shell, hasRuntime: false, recording: 2), .off)
    // After it has ended nobody else takes its place.
    XCTAssertEqual(choice.decide(pid: 5, facts: app, hasRuntime: true, recording: nil), .pass)
  }

  func testAnExecOfTheProgramGoesOnInANewTrace() {
    var choice = RecordingChoice()
    let app = facts("/w/App", "./App")
    XCTAssertEqual(choice.decide(pid: 2, facts: app, hasRuntime: true, recording: nil), .record)
    XCTAssertEqual(choice.decide(pid: 2, facts: facts("/bin/sh"), hasRuntime: false, recording: 2), .pass)
    XCTAssertEqual(choice.decide(pid: 2, facts: app, hasRuntime: true, recording: nil), .record)
    XCTAssertEqual(choice.decide(pid: 2, facts: app, hasRuntime: true, recording: 2), .record)
  }

  func testSwiftRunRecordsTheProductAlone() {
    var choice = RecordingChoice()
    func ask(_ pid: Int32, _ facts: ProcessFacts) -> RecordingChoice.Decision {
      choice.decide(pid: pid, facts: facts, hasRuntime: true, recording: nil)
    }
    XCTAssertEqual(ask(10, facts(bin + "swift-driver", "swift", "run", "App")), .pass)
    XCTAssertEqual(ask(10, facts(bin + "swift-package", bin + "swift-run", "App")), .pass)
    XCTAssertEqual(ask(11, facts(bin + "swift-frontend", bin + "swift-frontend", "-c")), .pass)
    XCTAssertEqual(ask(12, facts("/tmp/x/app-manifest", "app-manifest")), .pass)
    XCTAssertEqual(ask(13, facts("/w/.build/debug/Macros-tool", "Macros-tool")), .pass)
    XCTAssertEqual(ask(10, facts("/w/.build/debug/App", "App")), .record)
  }

  func testSwiftTestRecordsTheBundleOncePerLibrary() {
    var choice = RecordingChoice()
    let bundle = "/w/.build/debug/AppPackageTests.xctest"
    func ask(_ pid: Int32, _ facts: ProcessFacts) -> RecordingChoice.Decision {
      choice.decide(pid: pid, facts: facts, hasRuntime: true, recording: nil)
    }
    XCTAssertEqual(ask(10, facts(bin + "swift-package", "swift-test")), .pass)
    XCTAssertEqual(ask(12, facts("/tmp/x/app-manifest", "app-manifest")), .pass)
    XCTAssertEqual(ask(13, facts(bundle, bundle, "--dump-tests-json")), .pass)
    XCTAssertEqual(ask(14, facts(bundle, bundle)), .record)
    XCTAssertEqual(ask(15, facts(bundle, bundle)), .pass)
    XCTAssertEqual(ask(16, facts(bundle, bundle, "--testing-library", "swift-testing")), .record)
  }

  func testSwiftPackageIsItselfTheProgram() {
    var choice = RecordingChoice()
    func ask(_ pid: Int32, _ facts: ProcessFacts) -> RecordingChoice.Decision {
      choice.decide(pid: pid, facts: facts, hasRuntime: true, recording: nil)
    }
    XCTAssertEqual(ask(10, facts(bin + "swift-driver", "swift", "package", "describe")), .pass)
    XCTAssertEqual(ask(11, facts(bin + "swift-frontend", "swiftc")), .pass)
    XCTAssertEqual(ask(10, facts(bin + "swift-package", bin + "swift-package", "describe")), .record)
  }

  func testOtherToolsOfTheToolchainAreRecorded() {
    for words in [
      ["swift-format", "format", "x.swift"], ["docc", "convert"], ["plutil", "-p"], ["swiftc", "x.swift"],
    ] {
      var choice = RecordingChoice()
      let tool = ProcessFacts(executable: bin + words[0], arguments: words)
      XCTAssertEqual(choice.decide(pid: 1, facts: tool, hasRuntime: true, recording: nil), .record, words[0])
    }
  }
}
