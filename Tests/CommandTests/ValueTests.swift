// The written forms of values, nearest words and names of traces.

import XCTest

@testable import LifespanCommand

final class ValueTests: XCTestCase {
  func testTimesNeedTheirUnit() {
    XCTAssertEqual(ValueParser.time("12.5s"), 12_500_000_000)
    XCTAssertEqual(ValueParser.time("850ms"), 850_000_000)
    XCTAssertEqual(ValueParser.time("2m"), 120_000_000_000)
    XCTAssertEqual(ValueParser.time("7us"), 7000)
    for bad in ["", "s", "12", "-1s", "1.2.3s", ".5s", "1e3s", "1 s", "99999999999999h"] {
      XCTAssertNil(ValueParser.time(bad), bad)
    }
  }

  func testBytesTakePowersOf1024() {
    XCTAssertEqual(ValueParser.bytes("64K"), 65536)
    XCTAssertEqual(ValueParser.bytes("1M"), 1 << 20)
    XCTAssertEqual(ValueParser.bytes("2GiB"), 2 << 30)
    XCTAssertEqual(ValueParser.bytes("3kb"), 3072)
    XCTAssertEqual(ValueParser.bytes("17"), 17)
    for bad in ["", "K", "1Q", "-1", "1.5M", "99999999999999T"] { XCTAssertNil(ValueParser.bytes(bad), bad) }
  }

  func testSerialsBeginWithAnAtSign() {
    XCTAssertEqual(ValueParser.serial("@12"), 12)
    for bad in ["12", "@", "@0", "@-1", "@x"] { XCTAssertNil(ValueParser.serial(bad), bad) }
  }

  func testSignalsGoByNameAndNumber() {
    XCTAssertEqual(SignalName.number("USR1"), 10)
    XCTAssertEqual(SignalName.number("sigusr2"), 12)
    XCTAssertEqual(SignalName.number("10"), 10)
    XCTAssertEqual(SignalName.number("RTMIN+3"), 37)
    for bad in ["KILL", "STOP", "SEGV", "9", "0", "65", "RTMIN+31", ""] { XCTAssertNil(SignalName.number(bad), bad) }
  }

  func testTheNearestWordIsNearEnough() {
    XCTAssertEqual(Suggestion.nearest(to: "--pauesd", among: ["--paused", "--force"]), "--paused")
    XCTAssertEqual(Suggestion.nearest(to: "lits", among: ["list", "stats"]), "list")
    XCTAssertNil(Suggestion.nearest(to: "zebra", among: ["list", "stats"]))
    XCTAssertNil(Suggestion.nearest(to: "x", among: []))
  }

  func testPatternsOfTheOutputName() {
    let name = OutputName(pattern: "out/%p-%h-%%-%t.lifespan")
    XCTAssertEqual(name.path(program: "/bin/App", pid: 7), "out/7-\(name.host)-%-\(name.time).lifespan")
    XCTAssertEqual(name.directory, "out")
    XCTAssertEqual(OutputName(pattern: nil).path(program: "/bin/App", pid: 7), "App.7.lifespan")
    XCTAssertEqual(OutputName(pattern: "100%").path(program: "App", pid: 7), "100%")
    XCTAssertEqual(OutputName(pattern: "/t").directory, "/")
  }

  func testTakenNamesGetANumberBeforeTheEnding() {
    XCTAssertEqual(OutputName.numbered("a.lifespan", 1), "a.lifespan")
    XCTAssertEqual(OutputName.numbered("a.lifespan", 2), "a-2.lifespan")
    XCTAssertEqual(OutputName.numbered("a.trace", 3), "a.trace-3")
  }

  func testAWaitStatusIsAnEndOrNone() {
    XCTAssertEqual(ProgramEnd(waitStatus: 7 << 8), .exited(7))
    XCTAssertEqual(ProgramEnd(waitStatus: 9), .killed(signal: 9))
    XCTAssertEqual(ProgramEnd(waitStatus: 0x80 | 11), .killed(signal: 11))
    XCTAssertNil(ProgramEnd(waitStatus: 0x137f))
    XCTAssertNil(ProgramEnd(waitStatus: 0xffff))
  }

  func testOurLibraryIsFirstButForASanitizer() {
    XCTAssertEqual(ProgramEnvironment.preload("/l/ours.so", before: ""), "/l/ours.so")
    XCTAssertEqual(ProgramEnvironment.preload("/l/ours.so", before: "a.so:b.so"), "/l/ours.so:a.so:b.so")
    XCTAssertEqual(ProgramEnvironment.preload("/l/o.so", before: "a.so libasan.so.8"), "libasan.so.8:/l/o.so:a.so")
  }
}
