// The reading subcommands of the built command on small traces: stdout, stderr, exit status.
import Foundation
import LifespanTrace
import XCTest

final class ReadingCommandTests: XCTestCase {
  /// A folder with `story.lifespan` in it.
  private func folder(_ bytes: [UInt8] = SampleTrace.story().bytes()) throws -> URL {
    let folder = try temporaryFolder(self)
    try Data(bytes).write(to: folder.appendingPathComponent("story.lifespan"))
    return folder
  }

  /// Runs it; stdout must be the golden, stderr empty.
  private func check(
    _ words: [String], _ golden: String, status: Int32 = 0, in folder: URL? = nil, line: UInt = #line
  ) throws {
    let run = try CommandRun(words, in: folder ?? self.folder())
    XCTAssertEqual(run.stderr, "", line: line)
    XCTAssertEqual(run.status, status, line: line)
    assertGolden(run.stdout, "command/\(golden)", line: line)
    if golden.hasSuffix(".txt") { assertFitsTheLine(run.stdout, line: line) }
  }

  /// Runs it; stdout must be empty and stderr this one line.
  private func checkRefused(
    _ words: [String], _ message: String, status: Int32 = 2, in folder: URL? = nil, line: UInt = #line
  ) throws {
    let run = try CommandRun(words, in: folder ?? self.folder())
    XCTAssertEqual(run.stdout, "", line: line)
    XCTAssertEqual(run.stderr, "lifespan: \(message)\n", line: line)
    XCTAssertEqual(run.status, status, line: line)
  }

  func testStats() throws {
    try check(["stats", "story.lifespan"], "stats.txt")
    try check(["stats", "story.lifespan", "--lifespan", "all", "--json"], "stats-all.json")
    try check(["stats", "story.lifespan", "--lifespan", "destroyed", "--format", "csv"], "stats-destroyed.csv")
    try check(["stats", "story.lifespan", "--type", "App.*", "--exclude-type", "*Hidden"], "stats-types.txt")
    try check(["stats", "story.lifespan", "--kind", "array,closure", "--sort", "type"], "stats-kinds.txt")
    try check(["stats", "story.lifespan", "--from", "launched", "--to", "9ms", "--lifespan=all"], "stats-window.txt")
    try check(
      ["stats", "story.lifespan", "--lifespan", "all", "--columns", "temporary-count,type"], "stats-temporary.txt")
    try check(["stats", "--lifespan", "all", "--columns", "temporary,type"], "stats-temporary.txt")
    try check(
      ["stats", "--lifespan", "all", "--columns", "retains,releases,net,references,type", "--sort", "retains"],
      "stats-references.txt")
  }

  func testStatsByOtherThingsThanTypes() throws {
    try check(["stats", "--lifespan", "all", "--by", "module"], "stats-module.txt")
    try check(["stats", "--lifespan", "all", "--by", "size", "--columns", "total_count,group"], "stats-sizes.txt")
    try check(["stats", "--lifespan", "all", "--by", "thread", "--format", "csv"], "stats-threads.csv")
    try checkRefused(
      ["stats", "--by", "colour"],
      "--by does not take 'colour': expected type, module, package, file, thread, size, caller", status: 64)
    let run = try CommandRun(["stats", "--by", "module", "--columns", "type"], in: folder())
    XCTAssertEqual(run.status, 64)
    XCTAssertTrue(run.stderr.contains("--columns does not take 'type'"), run.stderr)
  }

  func testLifetimesOfTheDestroyed() throws {
    try check(
      ["stats", "--lifespan", "all", "--columns", "lifetime_min,lifetime_median,lifetime_max,type"],
      "stats-lifetimes.txt")
  }

  func testThePeakInEveryReportThatHasAnEnd() throws {
    try check(["stats", "--at-peak", "--lifespan", "all"], "stats-at-peak.txt")
    try check(["stats", "--at-peak", "--json"], "stats-at-peak.json")
    try check(["objects", "--at-peak"], "objects-at-peak.txt")
    try check(["tree", "--at-peak"], "tree-at-peak.txt")
    try check(["generations", "--at-peak"], "generations-at-peak.txt")
    try checkRefused(
      ["stats", "--at-peak", "--to", "9ms"], "--to does not take '9ms': expected nothing, as --at-peak is given",
      status: 64)
  }

  func testTreesOfThreads() throws {
    try check(["tree", "--lifespan", "all", "--separate-by", "thread", "--separate-by", "type"], "tree-threads.txt")
  }

  func testIdleObjectsAreSortedByHowLongNobodyTouchedThem() throws {
    try check(["objects", "story.lifespan", "--idle"], "objects-idle.txt")
    try check(["objects", "--idle", "--lifespan", "all", "--format", "csv"], "objects-idle.csv")
  }

  func testTheNewestTraceHereIsTakenWhenNoneIsNamed() throws {
    let folder = try folder()
    let older = folder.appendingPathComponent("older.lifespan")
    try Data("no trace".utf8).write(to: older)
    try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: older.path)
    try check(["stats"], "stats.txt", in: folder)
    let empty = try temporaryFolder(self)
    try checkRefused(
      ["stats"], "no TRACE is given and no *.lifespan is here; lifespan record -- PROGRAM makes one", in: empty)
  }

  func testGenerationsDownToObjectsAndStacks() throws {
    try check(["generations", "story.lifespan"], "generations.txt")
    try check(["generations", "story.lifespan", "--json"], "generations.json")
    try check(["generations", "story.lifespan", "--at-mark"], "generations-at-mark.txt")
    try check(["generations", "story.lifespan", "--mark-at", "1500us:early"], "generations-mark-at.txt")
    try check(["generations", "story.lifespan", "--generation", "round"], "generation.txt")
    try check(["generations", "story.lifespan", "--generation", "open", "--format", "markdown"], "generation-open.md")
    try check(
      ["generations", "story.lifespan", "--generation", "round", "--type", "App.Node"], "generation-objects.txt")
  }

  func testTheLifespanFilterOfGenerationsShowsWhatWasBornInThem() throws {
    try check(["generations", "--lifespan", "all"], "generations-all.txt")
    try check(["generations", "--lifespan", "destroyed", "--generation", "launched"], "generation-destroyed.txt")
    try check(
      ["generations", "--lifespan", "all", "--generation", "launched", "--type", "App.Node"],
      "generation-objects-all.txt")
    try check(["generations", "--lifespan", "destroyed", "--at-mark", "--json"], "generations-destroyed.json")
  }

  func testLaterMarksCanBeNamedInEveryReport() throws {
    try check(["stats", "--mark-at", "1500us:early", "--to", "early", "--lifespan", "all"], "stats-mark-at.txt")
    try check(["objects", "--mark-at", "1500us:early", "--to", "early", "--lifespan", "all"], "objects-mark-at.txt")
    try check(["diff", "--mark-at", "1500us:early", "early", "round"], "diff-mark-at.txt")
    try check(
      ["history", "@3", "--mark-at", "9500us:late", "--from", "launched", "--to", "late"], "history-window.txt")
  }

  func testAHistoryOfAStretchShowsTheObjectAsItWasAtItsEnd() throws {
    try check(["history", "@3", "--to", "launched", "--format", "json"], "history-window.json")
    try check(["history", "@3", "--from", "round"], "history-nothing.txt")
    try checkRefused(
      ["history", "@7", "--to", "launched"], "object @7 is born after mark 'launched'; give a later --to")
    try checkRefused(
      ["history", "@3", "--format", "csv"], "--format does not take 'csv': expected table, json", status: 64)
  }

  func testAClosureIsChosenByTheModuleThatItsRowShows() throws {
    let all = try CommandRun(["stats", "--kind", "closure", "--format", "csv"], in: folder()).stdout
    XCTAssertTrue(all.contains(",closure,App,"), all)
    XCTAssertEqual(
      try CommandRun(["stats", "--kind", "closure", "--module", "App", "--format", "csv"], in: folder()).stdout, all)
    let other = try CommandRun(["stats", "--kind", "closure", "--module", "Swift", "--format", "csv"], in: folder())
    XCTAssertFalse(other.stdout.contains(",closure,"), other.stdout)
  }

  func testDiff() throws {
    try check(["diff", "story.lifespan", "launched", "round"], "diff.txt")
    try check(["diff", "launched", "11ms", "--json"], "diff.json")
  }

  func testObjects() throws {
    try check(["objects", "story.lifespan", "--type", "App.Node", "--lifespan", "all"], "objects.txt")
    try check(["objects", "--type", "App.Node", "--limit", "1", "--json"], "objects.json")
  }

  func testHistoryBySerialAndAddress() throws {
    try check(["history", "story.lifespan", "@3"], "history.txt")
    try check(["history", "0x500000001020"], "history-address.txt")
    try check(["history", "@3", "--json"], "history.json")
  }

  func testFailOnEndsWithOneAndSaysWhy() throws {
    let folder = try folder()
    func run(_ words: String...) throws -> CommandRun { try CommandRun(words, in: folder) }
    let growth = try run("diff", "launched", "round", "--fail-on", "growth=64", "--fail-on", "survivors=3")
    XCTAssertEqual(growth.stderr, "lifespan: the heap grew by 80 B, over 64 B\n")
    XCTAssertEqual(growth.status, 1)
    XCTAssertEqual(try run("diff", "launched", "round", "--fail-on", "growth=80").status, 0)
    XCTAssertEqual(try run("diff", "launched", "round", "--fail-on", "growth=99%").status, 1)
    let survivors = try run("diff", "launched", "round", "--fail-on", "survivors")
    XCTAssertEqual(survivors.stderr, "lifespan: new and living at round: 3 objects, over 0\n")
    XCTAssertEqual(survivors.status, 1)
    let percent = try run("diff", "0s", "round", "--fail-on", "growth=1%")
    XCTAssertEqual(percent.stderr, "lifespan: the heap grew by 160 B from nothing, over 1%\n")
    let generation = try run("generations", "--fail-on", "growth=100")
    XCTAssertEqual(generation.stderr, "lifespan: generation round grew by 128 B, over 100 B\n")
    XCTAssertEqual(generation.status, 1)
  }

  func testACutRecordingPassesNoLimit() throws {
    let folder = try folder(Array(SampleTrace.story().bytes().dropLast(20)))
    for words in [
      ["diff", "launched", "round"], ["generations"], ["compare", "story.lifespan", "story.lifespan"],
      ["growth"], ["growth", "--round", "launched", "round"],
    ] {
      XCTAssertEqual(try CommandRun(words, in: folder).status, 0, "\(words)")
      let run = try CommandRun(words + ["--fail-on", "growth=1G"], in: folder)
      XCTAssertEqual(run.status, 2, "\(words)")
      XCTAssertTrue(run.stderr.hasPrefix("lifespan: --fail-on: can't be told: cut at byte "), run.stderr)
      XCTAssertEqual(run.stderr.split(separator: "\n").count, 1, run.stderr)
    }
  }

  func testATraceAloneIsNoQuestion() throws {
    for (command, what) in [
      ("holders", "ADDRESS|@SERIAL|TYPE"), ("history", "ADDRESS|@SERIAL"), ("explain", "TYPE"),
    ] {
      for word in ["story.lifespan", "missing.lifespan"] {
        try checkRefused(
          [command, word], "something is missing: expected [TRACE] \(what), and \(what) is missing", status: 64)
      }
    }
  }

  func testANumberIsNoNameOfAMark() throws {
    let run = try CommandRun(["mark", "1"], in: folder())
    XCTAssertEqual(run.status, 2)
    XCTAssertTrue(
      run.stderr.hasSuffix("; a number is read as a PID: lifespan mark PID 1 names a mark 1\n"), run.stderr)
  }

  func testFailOnOfGenerationsTakesEveryForm() throws {
    let folder = try folder()
    func run(_ words: String...) throws -> CommandRun { try CommandRun(["generations"] + words, in: folder) }
    let survivors = try run("--fail-on", "survivors=2")
    XCTAssertEqual(survivors.stderr, "lifespan: of generation round living at the end: 3 objects, over 2\n")
    XCTAssertEqual(survivors.status, 1)
    XCTAssertEqual(try run("--fail-on", "survivors=3").status, 0)
    // The first one holds 32 B, the second 128 B: four times as much. The first is no part of itself.
    let percent = try run("--fail-on", "growth=399.5%")
    XCTAssertEqual(percent.stderr, "lifespan: generation round grew by 128 B, over 399.5% of 32 B\n")
    XCTAssertEqual(percent.status, 1)
    XCTAssertEqual(try run("--fail-on", "growth=400%").status, 0)
    XCTAssertEqual(try run("--generation", "launched", "--fail-on", "growth=100").status, 0)
    XCTAssertEqual(try run("--generation", "launched", "--fail-on", "survivors=0").status, 1)
    XCTAssertEqual(try run("--fail-on", "growth").status, 64)
    XCTAssertEqual(try run("--fail-on", "growth=-1%").status, 64)
  }

  func testUnknownNamesSayWhatIsNearest() throws {
    try checkRefused(
      ["stats", "story.lifespan", "--type", "Node"], "no type matches 'Node' in this recording; nearest: App.Node")
    try checkRefused(
      ["diff", "lanched", "round"], "no mark 'lanched' in this recording; nearest: launched")
    try checkRefused(
      ["generations", "--generation", "rund"], "no generation 'rund' in this recording; nearest: round")
    try checkRefused(
      ["stats", "story.lifespan", "--module", "Ap"], "no type of module 'Ap' in this recording; nearest: App")
    try checkRefused(
      ["diff", "story.lifespan", "launched", "round", "--kind", "malloc"],
      "kind malloc was not recorded in this trace; it has: class, closure, array")
    try checkRefused(["history", "@99"], "no object @99 in this recording, which has 8 births")
    try checkRefused(
      ["history", "0x500000001021"],
      "no object lay at 0x500000001021 in this recording; nearest: 0x500000001020, 0x500000001050")
    try checkRefused(
      ["diff", "round", "launched"],
      "mark 'round' is not before mark 'launched'; give an earlier and a later moment")
  }

  func testFilesThatAreNoTraceAreRefusedWithPlaceAndCure() throws {
    var newer = SampleTrace.story().bytes()
    newer[8] = 9
    try checkRefused(
      ["stats", "nothing.lifespan"],
      "nothing.lifespan: can't be read (No such file or directory); check the path and its permissions")
    for command in ["stats", "generations", "objects", "dump"] {
      try checkRefused(
        [command, "story.lifespan"], "story.lifespan: empty, byte 0: nothing was recorded into it; record again",
        in: folder([]))
    }
    try checkRefused(
      ["stats", "story.lifespan"],
      "story.lifespan: byte 0: no Lifespan trace; give a file that `lifespan record` wrote",
      in: folder(Array("#!/bin/sh\n".utf8)))
    try checkRefused(
      ["stats", "story.lifespan"],
      "story.lifespan: byte 8: format version 9, newer than this lifespan reads (1); use a newer lifespan",
      in: folder(newer))
  }

  func testACutOrDamagedTraceIsReportedAsFarAsItGoes() throws {
    let bytes = SampleTrace.story().bytes()
    try check(["stats", "story.lifespan"], "stats-cut.txt", in: folder(Array(bytes.dropLast(20))))
    var damaged = bytes
    damaged[bytes.count - 8] ^= 0xff
    try check(["stats", "story.lifespan"], "stats-damaged.txt", in: folder(damaged))
  }

  func testCSVSaysOnStderrWhatIsMissing() throws {
    let bytes = SampleTrace.story().bytes()
    let run = try CommandRun(["stats", "--format", "csv"], in: folder(Array(bytes.dropLast(20))))
    XCTAssertEqual(run.status, 0)
    XCTAssertTrue(run.stdout.hasPrefix("persistent_count,"))
    XCTAssertEqual(
      run.stderr,
      "lifespan: trace: cut at byte 995: the recorder was killed, the disk is full, or it still records\n")
  }

  func testWrongUsageIsSixtyFour() throws {
    try checkRefused(["stats", "--sort", "size"], Self.sortMessage, status: 64)
    try checkRefused(
      ["stats", "--kind", "classes"],
      "--kind does not take 'classes': expected class, closure, box, array, dictionary, set, task, thread, malloc, vm, "
        + "token", status: 64)
    try checkRefused(
      ["history", "12"],
      "cannot use '12': expected an object's address, e.g. 0x7f0012345678, or number, e.g. @12", status: 64)
    try checkRefused(
      ["stats", "--json", "--format", "csv"], "--format does not take 'csv': expected json, as --json is given",
      status: 64)
    try checkRefused(
      ["diff", "story.lifespan", "launched"], "something is missing: expected TRACE FROM TO, and TO is missing",
      status: 64)
    try checkRefused(
      ["stats", "--limit", "0"], "--limit does not take '0': expected a number of rows, at least 1", status: 64)
    try checkRefused(["diff", "launched"], "something is missing: expected [TRACE] FROM TO [options]", status: 64)
  }

  private static let sortMessage =
    "--sort does not take 'size': expected persistent_count, persistent_bytes, transient_count, transient_bytes, "
    + "temporary_count, kept_count, kept_bytes, total_count, total_bytes, lifetime_min_ns, lifetime_median_ns, "
    + "lifetime_max_ns, retains, releases, net, references, kind, module, type"

  func testHelpOfEveryReadingCommandFitsTheLine() throws {
    for command in ["stats", "generations", "diff", "objects", "history", "dump"] {
      let run = try CommandRun([command, "--help"], in: folder())
      XCTAssertEqual(run.status, 0)
      assertFitsTheLine(run.stdout)
      XCTAssertTrue(run.stdout.contains("TRACE is a file, the PID of a recording that runs"), command)
    }
  }
}
