// The reports of leaks and holders in every format, suppressions, baselines, and the commands' exit statuses.
import Foundation
import LifespanAnalysis
import LifespanHeap
import LifespanSymbols
import LifespanTrace
import XCTest

@testable import LifespanReport

final class HeapReportTests: XCTestCase {
  /// A program of four rounds: a page a round stays in a cache, a request and its breaker are lost in two rounds, a task and a
  /// block of the toolchain's at the end. `isComplete` false: a picture that no leak can be told from.
  private func builder(isComplete: Bool = true, rounds: Int = 4) -> TraceBuilder {
    var builder = TraceBuilder(SampleTrace.header)
    builder.info = SampleTrace.info
    builder.step = 1_000_000
    // Number 2: the sample names its frames.
    let stack = builder.stack(0x1008)
    let types = ["App.Cache", "App.Page", "App.Request", "App.Breaker", "Foundation.Run"].map { builder.type($0) }
    let task = builder.type("", kind: .task, size: 304, caller: 0x2010)
    var heap = HeapGraphBuilder(
      HeapGraph.Head(
        number: 1, time: TraceTime(12_000_000), pauseNanoseconds: 1_250_000, objectsChecked: 9, isComplete: isComplete,
        notes: isComplete ? [] : ["thread 7 could not be stopped"]))
    var address: UInt64 = 0x7000_0000
    func add(_ type: TypeID, size: Int64 = 48) -> UInt32 {
      address += 0x200
      let serial = builder.birth(type, size: size, stack: stack, address: address)
      return heap.addNode(address: address, size: UInt64(size), serial: serial.rawValue, type: type)
    }
    func edge(_ source: UInt32, _ label: String, _ target: UInt32, _ offset: UInt32 = 16) {
      heap.addEdge(from: source, to: target, offset: offset, label: heap.name(label))
    }
    let cache = add(types[0])
    heap.addRoot(to: cache, kind: .global, label: heap.name("App.cache"), offset: 8)
    for round in 0..<rounds {
      let page = add(types[1])
      edge(cache, "[\(round)]", page)
      heap.addRoot(to: page, kind: .stack, isFirm: false, thread: .main)
      if round < 2 {
        let (request, breaker) = (add(types[2]), add(types[3], size: 64))
        edge(request, "breaker", breaker)
        edge(breaker, "", request, 24)
        let buffer = heap.addNode(address: address + 0x100, size: 100)
        edge(request, "buffer", buffer, 32)
      }
      builder.mark("round \(round + 1)")
    }
    let lost = add(task, size: 304)
    heap.describe(lost, adding: .task)
    edge(lost, "slab", heap.addNode(address: address + 0x180, size: 120, name: heap.name("task slab")), 120)
    _ = add(types[4])
    builder.heap(heap.finish())
    return builder
  }

  private func heap(_ builder: TraceBuilder) throws -> (Heap, ReportSubject) {
    let trace = try builder.trace()
    let analysis = Analysis(
      trace, naming: RowNaming(function: { Sample.names.functionName(at: $0) }))
    let graph = try XCTUnwrap(trace.heapGraph(0))
    let heap = try Heap(graph, analysis)
    return (heap, ReportSubject(try analysis.information()))
  }

  private func report(
    _ builder: TraceBuilder, _ suppressions: String = "", _ baseline: LeakBaseline? = nil
  ) throws -> LeaksReport {
    let (heap, subject) = try heap(builder)
    return LeaksReport(
      heap, subject: subject, names: Sample.names, suppressions: try Suppressions(suppressions), baseline: baseline)
  }

  private func check(_ text: String, _ golden: String, line: UInt = #line) {
    assertGolden(text, golden, line: line)
    if golden.hasSuffix(".txt") { assertFitsTheLine(text, line: line) }
  }

  func testLeaksInEveryFormat() throws {
    let report = try report(builder(), "leak:App.Page # not one of them\n# reported upstream\nleak:^task")
    check(report.render(ReportOptions()), "leaks.txt")
    check(report.render(ReportOptions(format: .json)), "leaks.json")
    check(report.render(ReportOptions(format: .junit)), "leaks.xml")
    check(DotExport(report).text, "leaks.dot")
    XCTAssertEqual(report.newLeaks, 3)
    XCTAssertEqual(report.abandonedObjects, 4)
  }

  func testWhatCanNotBeToldIsSaid() throws {
    let report = try report(builder(isComplete: false, rounds: 2))
    check(report.render(ReportOptions()), "leaks-withheld.txt")
    check(report.render(ReportOptions(format: .json)), "leaks-withheld.json")
    XCTAssertTrue(report.render(ReportOptions(format: .junit)).contains("skipped=\"2\""))
  }

  func testABaselineTellsNewFromKnown() throws {
    let first = try report(builder())
    let file = first.updatedBaseline.text
    let baseline = LeakBaseline.parse(file).baseline
    XCTAssertEqual(baseline, first.updatedBaseline)
    let again = try report(builder(), "", baseline)
    XCTAssertEqual(again.newLeaks, 0)
    XCTAssertTrue(again.render(ReportOptions()).contains(", known, module App"))
    XCTAssertEqual(LeakBaseline.parse("# comment\n\n0123456789abcdef\nnonsense # x\n").badLine, 4)
  }

  func testSuppressionsMatchAsLeakSanitizersDo() throws {
    for (pattern, count) in [
      ("App.Request", 2), ("Request", 2), ("^Request", 0), ("App.Breaker.*", 0), ("Worker.start", 4), ("^App$", 4),
      ("equest.bre", 2), ("Foundation.*", 1), ("main$", 4),
    ] {
      let suppressed = try report(builder(), "leak:\(pattern)").suppressed
      XCTAssertEqual(suppressed.reduce(0) { $0 + $1.count }, count, pattern)
    }
    XCTAssertEqual(try Suppressions("# a\n# b\nleak:X\nleak:Y # c\n\nleak:Z").rules.map(\.reason), ["a b", "c", ""])
    XCTAssertThrowsError(try Suppressions("leak:X\nrace:Y")) { XCTAssertTrue("\($0)".hasPrefix("line 2: ")) }
    XCTAssertThrowsError(try Suppressions("leak: "))
  }

  /// The runtime has memory for its caller in some of its functions, for itself in the others.
  func testWhoseABlockIs() {
    struct Names: FrameNamer {
      let functions: [(name: String, module: String, origin: FrameOrigin)]
      var notes: [SymbolNote] { [] }
      func frame(at location: CodeLocation) -> Frame {
        let (name, module, origin) = functions[Int(location.address.value)]
        return Frame(function: name, offset: 1, module: module, origin: origin, isAllocator: name == "malloc")
      }
    }
    struct One: StackSource {
      let count: UInt64
      func stack(_ id: StackID) -> StackTrace {
        StackTrace(locations: (0..<count).map { CodeLocation(image: nil, address: .instruction($0)) })
      }
      func location(of address: ReturnAddress) -> CodeLocation { CodeLocation(image: nil, address: .instruction(0)) }
    }
    let malloc = ("malloc", "c", FrameOrigin.system)
    let main = ("main", "App", FrameOrigin.program)
    for (function, module, isToolchains) in [
      ("swift_allocObject", "swiftCore", false), ("swift_slowAlloc", "swiftCore", false),
      ("static UnsafeMutablePointer.allocate(capacity:)", "swiftCore", false), ("swift_getTypeName", "swiftCore", true),
      ("CFStringCreateCopy", "Foundation", true), ("swift_getTypeName", "App", true),
    ] {
      let functions = [malloc, (function, module, FrameOrigin.runtime), main].map {
        (name: $0.0, module: $0.1, origin: $0.2)
      }
      let names = ReportNames(stacks: One(count: 3), symbolizer: Names(functions: functions))
      XCTAssertEqual(names.isToolchains(StackID(2)), isToolchains, function)
    }
    let plain = ReportNames(
      stacks: One(count: 2),
      symbolizer: Names(functions: [malloc, main].map { (name: $0.0, module: $0.1, origin: $0.2) }))
    XCTAssertFalse(plain.isToolchains(StackID(2)))
  }

  func testHoldersInEveryFormat() throws {
    let (heap, subject) = try heap(builder())
    for (selector, allPaths, name) in [
      (HeapSelector.type("App.Page"), true, "holders"), (.type("App.Breaker"), false, "holders-leaked"),
    ] {
      let holders = try heap.holders(of: selector, allPaths: allPaths)
      let report = HoldersReport(heap, holders, subject: subject, names: Sample.names, allPaths: allPaths)
      check(report.render(ReportOptions()), "\(name).txt")
      check(report.render(ReportOptions(format: .json)), "\(name).json")
      check(DotExport(holders, names: Sample.names).text, "\(name).dot")
    }
  }

  func testRetainedSizeGrowsOverPictures() throws {
    let (heap, subject) = try heap(builder())
    let selector = HeapSelector.type("App.Page")
    var before = heap.retainedAt(selector)
    XCTAssertEqual(before.retainedBytes, 192)  // as in the golden
    XCTAssertEqual(heap.retainedAt(.type("App.Nothing")).retainedBytes, 0)
    before.retainedBytes -= 24
    let report = HoldersReport(
      heap, try heap.holders(of: selector), subject: subject, names: Sample.names, allPaths: false,
      retainedByType: true, growth: [before, heap.retainedAt(selector)])
    let text = report.render(ReportOptions())
    XCTAssertTrue(text.contains("retained in each picture of this trace"), text)
    XCTAssertTrue(text.contains(", +24 bytes") || text.contains(", +24 B"), text)
    let json = report.render(ReportOptions(format: .json))
    XCTAssertEqual(json.components(separatedBy: "\"picture\":").count, 4, "the document's own, and two")
  }

  func testExplainNamesTheCycleOfWhatIsLeaked() throws {
    let trace = try builder().trace()
    let analysis = Analysis(trace)
    let heap = try Heap(try XCTUnwrap(trace.heapGraph(0)), analysis)
    let one = TypeFilter(include: ["App.Request"])
    let row = try XCTUnwrap(
      analysis.answer(StatisticsQuestion(lifespan: .all, types: one)).rows.first)
    let (trends, sites) = try analysis.answer(GrowthQuestion(types: one), AllocationSitesQuestion(types: one))
    let facts = ExplainReport.Facts(
      type: row.type, tally: row.tally, others: [], trend: nil, trends: trends, sites: sites,
      holders: try heap.holders(of: .type("App.Request")), heap: heap)
    let text = ExplainReport(facts, subject: ReportSubject(try analysis.information()), names: Sample.names)
      .render(ReportOptions())
    XCTAssertTrue(text.contains("2 of them no root reaches: leaked\n  cycle:\n    App.Breaker + 24\n"), text)
    XCTAssertTrue(text.contains("    App.Request .breaker\n    → App.Breaker\n\nlikely"), text)
    XCTAssertTrue(text.contains("the objects hold each other in a cycle"), text)
    XCTAssertFalse(text.contains("none of them is in the picture"), text)
    for step in [(ObjectKind.closure, ""), (.classInstance, "onChange: partial apply for closure #2 in A.b()")] {
      XCTAssertTrue(KnownPatterns.advice(cycle: [(.classInstance, ".a"), step]).contains("captures its owner"))
    }
  }

  // The commands.

  private func folder(_ builder: TraceBuilder) throws -> URL {
    let folder = try temporaryFolder(self)
    try Data(builder.bytes()).write(to: folder.appendingPathComponent("run.lifespan"))
    return folder
  }

  func testExitStatusesOfLeaks() throws {
    let folder = try folder(builder())
    for (words, status) in [
      ([], 0), (["--fail-on", "leaked=4"], 0), (["--fail-on", "leaked"], 1), (["--fail-on", "abandoned=3"], 1),
      (["--fail-on", "abandoned=4"], 0), (["--fail-on", "growth=1"], 64), (["--update-baseline"], 64),
      (["--baseline", "missing"], 2), (["--picture", "2"], 2), (["--picture", "0"], 64), (["--format", "csv"], 64),
    ] as [([String], Int32)] {
      let run = try CommandRun(["leaks", "run.lifespan"] + words, in: folder)
      XCTAssertEqual(run.status, status, "\(words): \(run.stderr)")
    }
    let write = try CommandRun(["leaks", "--baseline", "known", "--update-baseline"], in: folder)
    XCTAssertEqual(write.status, 0, write.stderr)
    let run = try CommandRun(["leaks", "--baseline", "known", "--fail-on", "leaked"], in: folder)
    XCTAssertEqual(run.status, 0, run.stderr)
    try Data("leak:nothing at all\nwrong".utf8).write(to: folder.appendingPathComponent("rules"))
    let bad = try CommandRun(["leaks", "--suppressions", "rules"], in: folder)
    XCTAssertEqual(bad.status, 2)
    XCTAssertEqual(bad.stderr, "lifespan: rules: line 2: expected leak:PATTERN, then # and a reason\n")
  }

  func testALimitThatCanNotBeHeldDoesNotPass() throws {
    let folder = try folder(builder(isComplete: false, rounds: 2))
    for limit in ["leaked", "abandoned"] {
      let run = try CommandRun(["leaks", "--fail-on", limit], in: folder)
      XCTAssertEqual(run.status, 2)
      XCTAssertTrue(run.stderr.hasPrefix("lifespan: --fail-on \(limit): can't be told: "), run.stderr)
    }
    XCTAssertEqual(try CommandRun(["leaks"], in: folder).status, 0)
  }

  func testATraceWithoutAPictureSaysHowToGetOne() throws {
    let folder = try folder(SampleTrace.story())
    for words in [["leaks"], ["holders", "App.Node"], ["export", "--format", "dot", "-o", "-"]] {
      let run = try CommandRun(words, in: folder)
      XCTAssertEqual(run.status, 2)
      XCTAssertEqual(run.stdout, "")
      XCTAssertTrue(
        run.stderr.hasPrefix("lifespan: run.lifespan: holds no picture of the heap") && run.stderr.contains("--leaks"),
        run.stderr)
    }
  }

  func testHoldersAndExportOfTheCommand() throws {
    let folder = try folder(builder())
    let page = try CommandRun(["holders", "run.lifespan", "App.Page", "--all-paths"], in: folder)
    XCTAssertEqual(page.status, 0, page.stderr)
    XCTAssertTrue(page.stdout.contains("4 × App.Page, 192 B"), page.stdout)
    XCTAssertEqual(try CommandRun(["holders", "App.Nothing"], in: folder).status, 2)
    XCTAssertEqual(try CommandRun(["holders", "@1", "--json"], in: folder).status, 0)
    let dot = try CommandRun(["export", "--format", "dot", "-o", "g.dot", "--of", "@1"], in: folder)
    XCTAssertEqual(dot.status, 0, dot.stderr)
    let text = try String(contentsOf: folder.appendingPathComponent("g.dot"), encoding: .utf8)
    XCTAssertTrue(text.hasPrefix("digraph lifespan {") && text.contains("App.Cache @1"), text)
    XCTAssertEqual(try CommandRun(["export", "--format", "dot"], in: folder).status, 64)
  }
}
