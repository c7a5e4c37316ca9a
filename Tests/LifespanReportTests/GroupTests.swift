// Statistics summed up otherwise than by type: every object in one row, and the sums the same.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace
import XCTest

@testable import LifespanReport

final class GroupTests: XCTestCase {
  /// Stack 2: of a package that is used; 3: of the own one; 4: without line table; 5: the runtime's alone.
  private struct Stacks: StackSource {
    func stack(_ id: StackID) -> StackTrace {
      let image = CodeImage(path: "/home/me/App")
      let addresses: [UInt32: [UInt64]] = [2: [9, 1, 2], 3: [9, 8, 2], 4: [3], 5: [9]]
      return StackTrace(
        locations: (addresses[id.rawValue] ?? []).map { CodeLocation(image: image, address: .returnAddress($0)) })
    }

    func location(of address: ReturnAddress) -> CodeLocation {
      CodeLocation(image: CodeImage(path: "/home/me/App"), address: .returnAddress(address.rawValue))
    }
  }

  private struct Namer: FrameNamer {
    let notes: [SymbolNote] = []
    func frame(at location: CodeLocation) -> Frame {
      switch location.address.value {
      case 1: Frame(function: "read()", offset: 1, module: "App", file: "/p/.build/checkouts/nio/Sources/IO/r.swift")
      case 2: Frame(function: "main()", offset: 1, module: "App", file: "/home/me/App/Sources/App/main.swift")
      case 3: Frame(function: "plain()", offset: 1, module: "libPlain")
      case 8:
        Frame(function: "Node.__allocating_init()", offset: 1, module: "App", file: "/home/me/App/Sources/N.swift")
      default: Frame(function: "swift_allocObject", offset: 1, module: "swiftCore", origin: .runtime)
      }
    }
  }

  private func names() -> ReportNames { ReportNames(stacks: Stacks(), symbolizer: Namer()) }

  private static let block = TypeIdentity(
    id: TypeID(9), name: "malloc 17-32", rawName: "", kind: .malloc, module: "")

  private func row(
    _ type: TypeIdentity, _ stack: UInt32, _ count: Int, size: Int64, thread: UInt32 = 1, dead: Int = 0
  ) -> AllocationSites.Row {
    .init(
      type: type, stack: StackID(stack), thread: ThreadID(thread), size: ByteCount(size),
      tally: Tally(
        persistentCount: count, persistentBytes: ByteCount(Int64(count) * size), transientCount: dead,
        transientBytes: ByteCount(Int64(dead) * size), temporaryCount: dead))
  }

  private var sites: AllocationSites {
    AllocationSites(
      lifespan: .all,
      rows: [
        row(Sample.node, 2, 3, size: 48), row(Sample.node, 3, 5, size: 48, thread: 2, dead: 2),
        row(Sample.array, 4, 1, size: 4_096), row(Sample.array, 5, 0, size: 16, thread: 0, dead: 7),
        row(Self.block, 0, 2, size: 17),
      ],
      withoutStack: Tally(transientCount: 4, transientBytes: ByteCount(192)),
      discarded: [
        .init(type: Sample.node, tally: Tally(transientCount: 4, transientBytes: ByteCount(192)))
      ])
  }

  private func groups(_ grouping: Grouping, _ lifespan: LifespanFilter = .all) -> StatisticsGroups {
    let threads = ThreadList(
      lifespan: .all, rows: [.init(thread: ThreadID(2), name: "worker")], livingCount: 1, endedCount: 0)
    return StatisticsGroups(sites, by: grouping, lifespan: lifespan, threads: threads, names: names())
  }

  private func text(_ grouping: Grouping, _ lifespan: LifespanFilter = .all) -> [String] {
    groups(grouping, lifespan).rows.map {
      "\($0.name) \($0.tally.persistentCount)+\($0.tally.transientCount)\($0.isKnown ? "" : " ?")"
    }
  }

  func testEveryGroupingHasEachObjectInOneRow() {
    for grouping in Grouping.allCases {
      let sum = groups(grouping).rows.reduce(into: Tally()) { $0 += $1.tally }
      XCTAssertEqual(sum.persistentCount, 11, "\(grouping)")
      XCTAssertEqual(sum.persistentBytes, ByteCount(8 * 48 + 4_096 + 34), "\(grouping)")
      XCTAssertEqual(sum.transientCount, 13, "\(grouping)")
      XCTAssertEqual(sum.transientBytes, ByteCount(96 + 112 + 192), "\(grouping)")
    }
  }

  func testByModuleTypesCountForTheirOwnAndBlocksHaveNone() {
    XCTAssertEqual(text(.module), ["Swift 1+7", "App 8+6", "(no module: malloc) 2+0 ?"])
    XCTAssertEqual(text(.module, .destroyed), ["Swift 1+7", "App 8+6"])
    XCTAssertNil(groups(.module).rows.first { $0.name == "App" }?.tally.temporaryCount)
    XCTAssertEqual(groups(.module).rows.first { $0.name == "Swift" }?.tally.temporaryCount, 7)
  }

  func testByWhoAllocatedTheFirstFrameOfTheProgramCounts() {
    let unknown = ["(no stack was recorded) 2+0 ?", "(discarded while recording) 0+4 ?"]
    let others = ["(runtime and system functions alone) 0+7 ?"]
    XCTAssertEqual(
      text(.caller),
      ["plain() [libPlain] 1+0", "main() [App] 5+2", "read() [App] 3+0", unknown[0], unknown[1]] + others)
    XCTAssertEqual(
      text(.file),
      [
        "(no line table says: libPlain) 1+0 ?", "/home/me/App/Sources/App/main.swift 5+2",
        "/p/.build/checkouts/nio/Sources/IO/r.swift 3+0", unknown[0], unknown[1],
      ] + others)
    XCTAssertEqual(
      text(.package),
      ["(no line table says: libPlain) 1+0 ?", "App 5+2", "nio 3+0", unknown[0], unknown[1]] + others)
  }

  func testByThreadAndBySize() {
    XCTAssertEqual(
      text(.thread),
      [
        "main thread 6+0", "thread 2: worker 5+2", "(discarded while recording) 0+4 ?", "(thread not known) 0+7 ?",
      ])
    XCTAssertEqual(
      text(.size),
      ["up to 16 B 0+7", "up to 32 B 2+0", "up to 64 B 8+2", "up to 4 KiB 1+0", "(discarded while recording) 0+4 ?"])
  }

  func testAPackageIsToldByTheFoldersOfItsFile() {
    let cases = [
      "/home/me/App/Sources/App/main.swift": "App", "/home/me/Sources/App/Sources/App/Sub/a.swift": "App",
      "/w/.build/checkouts/swift-nio/Sources/NIO/a.swift": "swift-nio", "/x/checkouts/nio/a.c": "nio",
      "/home/me/App/Tests/AppTests/a.swift": "App", "/home/me/App/Plugins/P/p.swift": "App", "/Sources/a.swift": nil,
      "/home/me/main.swift": nil, "main.swift": nil, "": nil, "/x/checkouts/a.swift": nil,
    ]
    for (file, package) in cases { XCTAssertEqual(PackageName.of(file: file), package, file) }
  }

  func testTheReportInEveryFormat() {
    let total = groups(.size).rows.reduce(into: Tally()) { $0 += $1.tally }
    let statistics = Statistics(
      lifespan: .all, rows: [], total: total, totalsByKind: [.init(kind: .classInstance, tally: total)])
    let report = StatisticsReport(
      statistics, subject: ReportSubject(Sample.information), names: names(), groups: groups(.size))
    assertGolden(report.render(ReportOptions()), "stats-size.txt")
    assertGolden(report.render(ReportOptions(format: .json)), "stats-size.json")
    assertGolden(report.render(ReportOptions(format: .csv)), "stats-size.csv")
    assertFitsTheLine(report.render(ReportOptions()))
  }

  func testLifetimesAndThePeakInTheReport() {
    var statistics = Sample.statistics
    var lifetimes = Lifetimes()
    for life in [1_500, 2_000_000, 3_000_000_000] as [Int64] { lifetimes.add(life) }
    statistics.rows[0].tally.lifetimes = lifetimes
    statistics.rows[1].tally.lifetimes = Lifetimes()
    statistics.total.lifetimes = lifetimes
    let peak = Peak(
      events: 1_234, time: TraceTime(1_234_567_891), livingCount: 1_206, livingBytes: ByteCount(70_713))
    statistics.window = TimeWindow(to: .peak(peak))
    let subject = ReportSubject(Sample.information, peak: peak)
    let report = StatisticsReport(statistics, subject: subject, names: Sample.names)
    let columns = ["persistent_count", "lifetime_min_ns", "lifetime_median_ns", "lifetime_max_ns", "type"]
    assertGolden(report.render(ReportOptions(columns: columns, sort: "lifetime_max_ns")), "stats-peak.txt")
    assertGolden(report.render(ReportOptions(format: .json)), "stats-peak.json")
    XCTAssertTrue(Preface.asides(subject).last?.hasPrefix("at the peak of the heap: 1.234568 s") ?? false)
  }

  func testTheExportForOtherPrograms() {
    let information = Sample.information
    var sites = sites
    for index in sites.rows.indices {
      sites.rows[index].thread = nil
      sites.rows[index].size = nil
      sites.rows[index].generation = Generation(UInt32(index % 3))
    }
    let export = SitesExport(
      sites, Sample.statistics, subject: ReportSubject(information), names: names())
    assertGolden(export.json, "export.json")
    assertGolden(export.csv(limit: nil), "export.csv")
    assertGolden(export.markdown(limit: 3), "export.md")
    XCTAssertEqual(export.csv(limit: 2).split(separator: "\n").count, 3)
    let filtered = SitesExport(
      sites, Sample.statistics, subject: ReportSubject(information), names: names(), isFiltered: true)
    XCTAssertTrue(filtered.markdown(limit: 3).contains("all of these"))
  }

  func testNoNameBecomesAFormulaInASpreadsheet() {
    var grid = Grid(columns: [GridColumn(key: "name", title: ""), GridColumn(key: "net", title: "")])
    for name in [
      "=1+1", "+ infix(_:_:)", "-= infix", "@main", "\tx", "\rx", "-", "@12", "@", "plain", "", "a=b", "=\"a,b\"",
    ] {
      grid.rows.append([.word(name), .known(-5)])
    }
    XCTAssertEqual(
      grid.csvLines(),
      [
        "name,net", "'=1+1,-5", "'+ infix(_:_:),-5", "'-= infix,-5", "'@main,-5", "'\tx,-5", "\"'\rx\",-5", "-,-5",
        "@12,-5", "'@,-5", "plain,-5", ",-5", "a=b,-5", "\"'=\"\"a,b\"\"\",-5",
      ])
  }
}
