// Whole outputs of every report, compared with the files in Goldens.
import Foundation
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace
import XCTest

@testable import LifespanReport

final class RendererTests: XCTestCase {
  private func options(
    _ format: ReportFormat = .table, columns: [String]? = nil, sort: String? = nil, limit: Int? = nil
  ) -> ReportOptions {
    ReportOptions(format: format, columns: columns, sort: sort, limit: limit)
  }

  private func statistics(_ information: TraceInformation = Sample.information) -> StatisticsReport {
    StatisticsReport(Sample.statistics, subject: ReportSubject(information), names: Sample.names)
  }

  private func check(_ text: String, _ golden: String, line: UInt = #line) {
    assertGolden(text, golden, line: line)
    if golden.hasSuffix(".txt") { assertFitsTheLine(text, line: line) }
    if golden.hasSuffix(".json") {
      XCTAssertNoThrow(try JSONSerialization.jsonObject(with: Data(text.utf8)), line: line)
    }
  }

  func testStatisticsInEveryFormat() {
    check(statistics().render(options()), "stats.txt")
    check(statistics().render(options(.json)), "stats.json")
    check(statistics().render(options(.csv)), "stats.csv")
    check(statistics().render(options(.markdown)), "stats.md")
  }

  func testAnIncompleteRecordingSaysSoBeforeItsFirstRow() {
    check(statistics(Sample.incomplete).render(options()), "stats-incomplete.txt")
    check(statistics(Sample.incomplete).render(options(.json, limit: 1)), "stats-incomplete.json")
    check(statistics(Sample.incomplete).render(options(.markdown, limit: 1)), "stats-incomplete.md")
  }

  func testColumnsOrderAndLimitAreTheReadersChoice() {
    let chosen = options(columns: ["module", "total_count", "type"], sort: "total_count", limit: 2)
    check(statistics().render(chosen), "stats-chosen.txt")
    check(statistics().render(options(sort: "type")), "stats-by-name.txt")
  }

  func testStatisticsWithoutRowsSaySo() {
    let empty = Statistics(
      lifespan: .destroyed, window: TimeWindow(from: .mark("launched")), rows: [], total: Tally(), totalsByKind: [],
      unknownDeaths: 3)
    let report = StatisticsReport(empty, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "stats-empty.txt")
    check(report.render(options(.json)), "stats-empty.json")
  }

  func testGenerationsInEveryFormat() {
    let report = GenerationsReport(Sample.generations, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "generations.txt")
    check(report.render(options(.json)), "generations.json")
    check(report.render(options(.csv)), "generations.csv")
    check(report.render(options(.markdown)), "generations.md")
  }

  func testOneGenerationShowsItsTypesAndDownToObjectsAndStacks() {
    let chosen = Sample.generations.closed[0]
    let types = GenerationsReport(
      Sample.generations, chosen: chosen, subject: ReportSubject(Sample.information), names: Sample.names)
    check(types.render(options()), "generation.txt")
    check(types.render(options(.csv)), "generation.csv")
    let objects = GenerationsReport(
      Sample.generations, chosen: chosen, objects: Sample.objects, subject: ReportSubject(Sample.information),
      names: Sample.names)
    check(objects.render(options()), "generation-objects.txt")
    check(objects.render(options(.json)), "generation-objects.json")
  }

  func testALimitCutsStacksToo() {
    let report = GenerationsReport(
      Sample.generations, chosen: Sample.generations.closed[0], objects: Sample.objects,
      subject: ReportSubject(Sample.information), names: Sample.names)
    XCTAssertTrue(report.render(options(limit: 1)).hasSuffix("    @12 @14 …\n… 1 more stack (--limit)\n"))
  }

  func testWithoutMarksTheGenerationsReportSaysHowToSetOne() {
    var generations = Sample.generations
    generations.closed = []
    let report = GenerationsReport(generations, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "generations-unmarked.txt")
  }

  func testDifferenceInTextAndJSON() {
    let report = DifferenceReport(Sample.difference, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "diff.txt")
    check(report.render(options(.json)), "diff.json")
  }

  func testObjectsInTextAndJSON() {
    let report = ObjectsReport(Sample.objects, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "objects.txt")
    check(report.render(options(.json, sort: "died_ns", limit: 2)), "objects.json")
  }

  func testRetainsAndReleasesAreColumnsAndSaidWhereTheyWereNotRecorded() {
    var known = Sample.statistics
    known.rows[0].tally.retains = 12_345
    known.rows[0].tally.releases = 45_000
    known.rows[0].tally.references = 1_345
    known.total = known.rows.reduce(into: Tally()) { $0 += $1.tally }
    let columns = ["retains", "releases", "net", "references", "type"]
    func report(_ statistics: Statistics, _ information: TraceInformation) -> StatisticsReport {
      StatisticsReport(statistics, subject: ReportSubject(information), names: Sample.names)
    }
    check(report(known, Sample.information).render(options(columns: columns, sort: "net")), "stats-references.txt")
    check(report(known, Sample.information).render(options(.csv, columns: columns)), "stats-references.csv")
    var plain = Sample.statistics
    for index in plain.rows.indices { plain.rows[index].type.isTracked = false }
    let text = report(plain, Sample.information).render(options(columns: columns))
    XCTAssertTrue(text.hasSuffix("\nretains and releases were not recorded (record --events refcounts)\n"), text)
    let kept = report(known, Sample.incomplete).render(options(columns: columns))
    XCTAssertTrue(kept.contains("\nolder retains and releases are in this recording no more"), kept)
  }

  func testIdleObjectsShowForHowLongAndWhatHoldsThem() {
    var list = Sample.objects
    var objects = Array(list.objects)
    (objects[0].retainCount, objects[0].idle) = (2, 8_000_000_000)
    (objects[2].type.isTracked, objects[1].died) = (false, nil)
    list.objects = ObjectRecords(objects)
    let report = ObjectsReport(list, subject: ReportSubject(Sample.information), names: Sample.names, showsIdle: true)
    check(report.render(options(sort: "idle_ns")), "objects-idle.txt")
  }

  func testWhatIsNotKnownComesLastWhicheverWayItIsSorted() {
    let cells: [Cell] = [.known(nil), .known(3), .known(nil), .known(7), .known(0)]
    XCTAssertEqual(Grid.order(of: cells, down: true), [3, 1, 4, 0, 2])
    XCTAssertEqual(Grid.order(of: cells, down: false), [4, 1, 3, 0, 2])
    XCTAssertEqual(Grid.order(of: [.moment(nil), .moment(5), .moment(2)], down: true), [1, 2, 0])
    XCTAssertEqual(Grid.order(of: [.word("b"), .word("a")], down: true), [1, 0])
  }

  func testHistoryInTextAndJSON() {
    let report = HistoryReport(Sample.history, subject: ReportSubject(Sample.information), names: Sample.names)
    check(report.render(options()), "history.txt")
    check(report.render(options(.json)), "history.json")
    let views: [HistoryReport.View] = [.backtraces, .groups, .unpaired, .lastRelease]
    for view in views {
      let report = HistoryReport(
        Sample.history, subject: ReportSubject(Sample.information), names: Sample.names, view: view)
      check(report.render(options()), "history-\(view.rawValue).txt")
      check(report.render(options(.json)), "history-\(view.rawValue).json")
    }
  }

  func testNothingIsPairedWhereNothingWasRecorded() throws {
    var builder = TraceBuilder()
    let first = builder.birth(builder.type("App.Node", size: 48))
    let analysis = Analysis(try builder.trace())
    let history = try analysis.history(of: .serial(first), window: .whole)
    let report = HistoryReport(
      history, subject: ReportSubject(try analysis.information()), names: Sample.names, view: .unpaired)
    let text = report.render(options())
    XCTAssertTrue(text.contains("retains and releases were not recorded (record --events refcounts)"), text)
    XCTAssertFalse(text.contains("belong together") || text.contains("without a release"), text)
  }

  func testGrowthWithoutMarksSaysHowToSetOne() throws {
    var builder = TraceBuilder()
    builder.birth(builder.type("App.Node", size: 48))
    let analysis = Analysis(try builder.trace())
    let report = GrowthReport(
      try analysis.answer(GrowthQuestion()), left: RoundTrip(rows: [], total: RoundTrip.Total()), heap: nil,
      subject: ReportSubject(try analysis.information()), names: Sample.names)
    let text = report.render(options())
    XCTAssertTrue(text.contains("no mark was set: lifespan mark sets one"), text)
    XCTAssertFalse(text.contains("nothing was recorded"), text)
  }

  func testARunningRecordingSaysAsOfWhen() {
    let report = StatisticsReport(
      Sample.statistics, subject: ReportSubject(Sample.unfinished, isRunning: true), names: Sample.names)
    check(report.render(options(limit: 1)), "stats-running.txt")
  }

  func testDiscardedObjectsAreSaidFirstAndAFilterNamesItsSum() {
    let report = StatisticsReport(
      Sample.statistics, subject: ReportSubject(Sample.information, discarded: 12_000), names: Sample.names,
      isFiltered: true)
    check(report.render(options(limit: 1)), "stats-discarded.txt")
  }

  func testATraceThatFollowsWhatLivesSaysSo() {
    var information = Sample.information
    information.discarded = .init(
      by: "--keep living", before: TraceTime(12_345_000_000), objects: 12_000, events: 30_000)
    var subject = ReportSubject(information, discarded: 12_000)
    func notes() -> [String] { Preface.notes(subject) }
    let what = "events of what died before 12.3 s were discarded (--keep living)"
    XCTAssertEqual(notes(), [what + ": 12,000 objects, counted by type, not listed, without history"])
    subject.countsDiscarded = false
    XCTAssertEqual(notes(), [what + ": 12,000 objects, in no count of this report"])
    subject.discarded = 0
    XCTAssertEqual(notes(), [what])
    let json = StatisticsReport(Sample.statistics, subject: subject, names: Sample.names).render(options(.json))
    XCTAssertTrue(
      json.contains(
        #""discarded":{"by":"--keep living","before_ns":12345000000,"objects":12000,"events":30000}"#), json)
  }

  func testBirthsThatDidNotFitAreSaidFirst() {
    var information = Sample.information
    information.lost.births = 7
    information.gaps = [
      .init(
        thread: .unknown, from: TraceTime(1_000_000), to: TraceTime(2_000_000), lost: .init(births: 7),
        reason: .sizeLimit)
    ]
    XCTAssertEqual(
      Preface.notes(ReportSubject(information)).last,
      "what lives did not fit into the trace any more (--max-size): some births were not recorded")
  }

  func testKeptObjectsAndTokensAreSaidBesideTheSums() {
    var statistics = Sample.statistics
    statistics.total.keptCount = 3
    statistics.total.keptBytes = ByteCount(120)
    let token = Tally(persistentCount: 4, persistentBytes: ByteCount(4_000))
    statistics.totalsByKind.append(.init(kind: .token, tally: token))
    let text = StatisticsReport(statistics, subject: ReportSubject(Sample.information), names: Sample.names)
      .render(options(columns: ["persistent_count", "type"]))
    XCTAssertTrue(text.contains("       1,206  Swift objects\n           4  tokens\n-"), text)
    XCTAssertFalse(text.contains("all heap"))
    XCTAssertTrue(text.hasSuffix("\n3 deinited objects still hold 120 B (unowned references)\n"), text)
    var information = Sample.information
    information.info["malloc"] = "all"
    let heap = StatisticsReport(statistics, subject: ReportSubject(information), names: Sample.names)
      .render(options(columns: ["persistent_count", "type"]))
    XCTAssertTrue(heap.contains("1,206  all heap\n       1,206  Swift objects\n           4  tokens\n"), heap)
  }

  func testTheFirstLinesSayWhatWasRecordedAndChecked() {
    var information = Sample.information
    information.options = "--record 'Leak.*' --check-unwind 7"
    information.counters = [
      "stacks_checked": 5_012, "stacks_equal": 5_008, "stacks_guessed": 3, "ends_not_seen": 1,
    ]
    information.unknownDeaths = 2
    let subject = ReportSubject(
      information, ambiguousMarks: [AmbiguousMark(name: "A", count: 2, time: TraceTime(1_200_000_000))])
    XCTAssertEqual(
      Preface.notes(subject),
      [
        "capture: partial: 1 object ended unseen, in memory that was used again: until then it counts as living",
        "recorded: --record 'Leak.*'",
        "2 objects died whose birth is not in the recording: they are in no count",
        "1 of 5,012 checked stacks differs from libunwind's",
        "2 marks are called 'A': the one set at 1.200 s is meant here",
      ])
    let report = StatisticsReport(Sample.statistics, subject: subject, names: Sample.names)
    let checked = " lost\nstacks checked against libunwind: 5,012, equal 5,008, guessed by it 3\n"
    XCTAssertTrue(report.render(options()).contains(checked))
    XCTAssertTrue(report.render(options(.json)).contains(#""capture":"partial""#))
  }

  func testLostEventsSayWhichNumbersTheyMake() {
    func note(_ lost: TraceInformation.Lost) -> String {
      var information = Sample.information
      information.lost = lost
      return Preface.notes(ReportSubject(information)).joined()
    }
    XCTAssertEqual(
      note(.init(deaths: 2)),
      "2 events were lost (0 births, 2 deaths, 0 others): living counts may be too large by the deaths")
    XCTAssertEqual(
      note(.init(births: 1)), "1 event was lost (1 birth, 0 deaths, 0 others): totals may be too small by the births")
    XCTAssertEqual(
      note(.init(others: 1)), "1 event was lost (0 births, 0 deaths, 1 other): histories may have holes")
  }

  func testARowlessTableSaysWhyOnlyWhereThereIsNothing() {
    var nothing = Sample.statistics
    nothing.rows = []
    nothing.totalsByKind = []
    func text(_ statistics: Statistics, isFiltered: Bool = false) -> String {
      StatisticsReport(
        statistics, subject: ReportSubject(Sample.information), names: Sample.names, isFiltered: isFiltered
      ).render(options(limit: isFiltered ? nil : 0))
    }
    XCTAssertTrue(text(nothing).hasSuffix("nothing was recorded\n"))
    XCTAssertTrue(text(nothing, isFiltered: true).hasSuffix("no type passes the filters\n"))
    XCTAssertTrue(text(Sample.statistics).hasSuffix("objects\n… 4 more types (--limit)\n"))
    var dead = Sample.statistics
    dead.rows = []
    XCTAssertTrue(text(dead).hasSuffix("nothing lives (--lifespan all shows what was made)\n"))
  }

  func testRetainsOfAllTypesAreRecordedWhereTheRecordingSaysSo() {
    var history = Sample.history
    history.object.type.isTracked = false
    var information = Sample.information
    func text(_ format: ReportFormat) -> String {
      HistoryReport(history, subject: ReportSubject(information), names: Sample.names).render(options(format))
    }
    XCTAssertTrue(text(.table).contains("were not recorded"))
    XCTAssertTrue(text(.json).contains(#""refcounts_recorded":false"#))
    information.info["refcounts"] = "all"
    XCTAssertFalse(text(.table).contains("were not recorded"))
    XCTAssertTrue(text(.json).contains(#""refcounts_recorded":true"#))
  }

  func testACutRecordingSaysToWhenAgesCount() {
    let report = ObjectsReport(Sample.objects, subject: ReportSubject(Sample.unfinished), names: Sample.names)
    XCTAssertTrue(
      report.render(options()).contains("\nthe recording was cut: ages count to its last event, at 12.400 s\n"))
    let running = ObjectsReport(
      Sample.objects, subject: ReportSubject(Sample.unfinished, isRunning: true), names: Sample.names)
    XCTAssertFalse(running.render(options()).contains("was cut"))
  }

  func testColourTouchesHeadingsSummariesAndNotesOnly() {
    var coloured = options(limit: 1)
    coloured.style = TextStyle(usesColor: true)
    let text = statistics(Sample.incomplete).render(coloured)
    let plain = text.replacing(/\u{1b}\[\d*m/, with: "")
    XCTAssertNotEqual(text, plain)
    XCTAssertEqual(plain, statistics(Sample.incomplete).render(options(limit: 1)))
  }

  /// Names of functions, images, programs and reasons are the recorded program's, as those of types and marks are.
  func testNoNameInAnyReportSpeaksToTheTerminal() {
    var information = Sample.incomplete
    information.program = "/home/me/A\u{1b}[2Jpp"
    information.captureReason = "no \u{9b}31m reason"
    let subject = ReportSubject(information)
    let names = ReportNames(stacks: Sample.Stacks(), symbolizer: LoudNamer())
    let noisy = ThreadList.Row(
      thread: ThreadID(2), tid: 701, name: "w\u{1b}]0;x\u{7}", stack: StackID(2), start: 0x2000)
    let threads = ThreadList(rows: [noisy], livingCount: 1, endedCount: 0)
    for usesColor in [false, true] {
      var options = options()
      options.style = TextStyle(usesColor: usesColor)
      var list = options
      list.format = .markdown
      for text in [
        StatisticsReport(Sample.statistics, subject: subject, names: names).render(options),
        StatisticsReport(Sample.statistics, subject: subject, names: names).render(list),
        GenerationsReport(
          Sample.generations, chosen: Sample.generations.open, objects: Sample.objects, subject: subject, names: names
        ).render(options),
        ObjectsReport(Sample.objects, subject: subject, names: names).render(options),
        HistoryReport(Sample.history, subject: subject, names: names).render(options),
        DifferenceReport(Sample.difference, subject: subject, names: names).render(options),
        ThreadsReport(threads, subject: subject, names: names).render(options),
        ThreadsReport(threads, subject: subject, names: names).render(list),
      ] {
        let own = text.replacing(/\u{1b}\[(0|1|2|33)m/, with: "")
        let loud = own.unicodeScalars.filter { $0 != "\n" && ($0.value < 0x20 || (0x7f...0x9f).contains($0.value)) }
        XCTAssertTrue(loud.isEmpty, text.debugDescription)
        XCTAssertTrue(text.contains("u{1B}") || text.contains("u{009B}"), "no name is in it")
      }
    }
  }

  private struct LoudNamer: FrameNamer {
    var notes: [SymbolNote] { [] }
    func frame(at location: CodeLocation) -> Frame {
      Frame(function: "\u{1b}[31mf()\n", offset: 1, module: "A\tpp", origin: .program)
    }
  }
}
