// Call trees over allocations, what a reader may do to them, and stacks in other programs' formats.
import Foundation
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace
import XCTest

@testable import LifespanReport

final class CallTreeTests: XCTestCase {
  /// Stacks by number, innermost first; each letter is a function.
  private struct Stacks: StackSource {
    static let letters: [UInt32: String] = [2: "zab", 3: "zcab", 4: "zcccab", 5: "zsab", 6: "d", 7: "zs"]
    static let image = CodeImage(path: "/home/me/App")

    func stack(_ id: StackID) -> StackTrace {
      let letters = Self.letters[id.rawValue] ?? ""
      return StackTrace(
        locations: letters.unicodeScalars.map {
          CodeLocation(image: Self.image, address: .returnAddress(UInt64($0.value)))
        })
    }

    func location(of address: ReturnAddress) -> CodeLocation {
      CodeLocation(image: Self.image, address: .returnAddress(address.rawValue))
    }
  }

  private struct Namer: FrameNamer {
    var notes: [SymbolNote] { [] }

    func frame(at location: CodeLocation) -> Frame {
      let letter = String(UnicodeScalar(UInt8(truncatingIfNeeded: location.address.value)))
      switch letter {
      case "z": return Frame(function: "swift_allocObject", module: "swiftCore", origin: .runtime)
      case "s": return Frame(function: "Array.append(_:)", module: "swiftCore", origin: .runtime)
      default:
        return Frame(function: "\(letter)()", module: "App", file: "/src/\(letter).swift", line: 7, origin: .program)
      }
    }

    /// `c` has `i` inlined into it.
    func frames(at location: CodeLocation) -> [Frame] {
      let own = frame(at: location)
      guard own.function == "c()" else { return [own] }
      return [
        Frame(function: "i()", module: "App", file: "/src/i.swift", line: 3, inlined: true, origin: .program), own,
      ]
    }
  }

  private var names: ReportNames { ReportNames(stacks: Stacks(), symbolizer: Namer()) }

  private func sites(_ lifespan: LifespanFilter = .living) -> AllocationSites {
    func row(_ type: TypeIdentity, _ stack: UInt32, _ living: Int, _ bytes: Int64, dead: Int = 0) -> AllocationSites.Row
    {
      .init(
        type: type, stack: StackID(rawValue: stack),
        tally: Tally(
          persistentCount: living, persistentBytes: ByteCount(bytes), transientCount: dead,
          transientBytes: ByteCount(Int64(dead) * 10)))
    }
    let discarded = Tally(transientCount: 5, transientBytes: ByteCount(50))
    return AllocationSites(
      lifespan: lifespan,
      rows: [
        row(Sample.node, 2, 10, 4_800, dead: 3), row(Sample.node, 3, 5, 2_400), row(Sample.node, 4, 2, 960),
        row(Sample.array, 5, 1, 12_345), row(Sample.array, 7, 1, 100), row(Sample.node, 6, 1, 48),
        row(Sample.node, 0, 1, 32),
      ], withoutStack: discarded)
  }

  private func report(
    _ lifespan: LifespanFilter = .living, least: Int = 10, _ change: (inout CallTreeOptions) -> Void = { _ in }
  ) -> CallTreeReport {
    var options = CallTreeOptions()
    change(&options)
    return CallTreeReport(
      sites(lifespan), options: options, leastShare: least, subject: ReportSubject(Sample.information), names: names)
  }

  /// `function bytes count`, indented by depth.
  private func tree(_ report: CallTreeReport, sort: String? = nil) -> [String] {
    report.render(ReportOptions(sort: sort)).split(separator: "\n").drop { !$0.contains("Function") }.dropFirst().map {
      line in
      let words = line.prefix(31).split(separator: " ")
      let name = line.dropFirst(31)
      return "\(name) \(words.filter { $0.first?.isNumber ?? false }.joined(separator: " "))"
    }
  }

  func testTheTreeAsTextAndJSON() {
    let text = report().render(ReportOptions())
    assertGolden(text, "tree.txt")
    assertFitsTheLine(text)
    assertGolden(report(least: 0).render(ReportOptions(format: .json)), "tree.json")
  }

  func testFunctionsThatAllocateComeFirstWhenInverted() {
    let lines = tree(
      report {
        $0.isInverted = true; $0.hidesSystem = true
      })
    XCTAssertEqual(lines.first, "a() [App] 16.74 82.8 11")
    XCTAssertEqual(lines.dropFirst().first, " b() [App] 16.74 82.8 11")
    XCTAssertTrue(lines.contains("i() [App] 3,360 16.2 7"))
  }

  func testRecursionIsFlattened() {
    let lines = tree(
      report(least: 0) {
        $0.flattensRecursion = true; $0.focus = ["c()"]; $0.charge = ["i()", "swiftCore"]
      })
    XCTAssertEqual(lines.first, "c() [App] 3,360 100.0 7")
    XCTAssertEqual(lines.filter { $0.contains("()") }.count, 1)
  }

  func testFocusPruneAndChargeSayWhatTheyTookOut() {
    let focused = report { $0.focus = ["c()"] }.render(ReportOptions())
    XCTAssertTrue(focused.contains("not in the tree: 14 objects, 16.92 KiB, out of focus"), focused)
    let pruned = report { $0.prune = ["Array.*"] }.render(ReportOptions())
    XCTAssertTrue(pruned.contains("not in the tree: 2 objects, 12.15 KiB, pruned"), pruned)
    let charged = tree(report(least: 0) { $0.charge = ["swiftCore", "c()", "i()"] })
    XCTAssertEqual(Array(charged.prefix(2)), ["b() [App] 20.02 99.1 18", " a() [App] 20.02 99.1 18"])
  }

  func testAStackOfWhichNothingIsLeftIsSaid() {
    let lines = tree(report(least: 0) { $0.hidesSystem = true })
    XCTAssertTrue(lines.contains("(no function is left of these stacks) 100 0.4 1"), "\(lines)")
    XCTAssertTrue(lines.contains("(no stack was recorded) 32 0.1 1"), "\(lines)")
  }

  func testTypesAreTreesOfTheirOwn() {
    let lines = tree(
      report(least: 0) {
        $0.separation = [.type]; $0.hidesSystem = true
      })
    XCTAssertEqual(lines.first, "Swift._ContiguousArrayStorage<App.Node> 12.15 60.1 2")
    XCTAssertTrue(lines.contains("App.Node 8,240 39.8 19"), "\(lines)")
  }

  func testSharesMayBeOfNumbers() {
    XCTAssertEqual(tree(report { $0.hidesSystem = true }, sort: "count").first, "b() [App] 20.02 85.7 18")
  }

  func testDiscardedObjectsAreSaidAndNotShown() {
    let text = report(.destroyed).render(ReportOptions())
    XCTAssertTrue(text.contains("not in the tree: 5 objects, 50 B, whose stacks were discarded while recording"), text)
    XCTAssertTrue(text.contains("destroyed: 30 B in 3 objects"), text)
  }

  func testADeepStackKeepsRoomForNames() {
    let node = CallNode(CallNode.Key(function: "", module: ""))
    let path = (0..<200).map { (key: CallNode.Key(function: "function\($0)()", module: "App"), file: String?.none) }
    node.add(path, CallWeight(count: 1, bytes: 1))
    XCTAssertEqual(node.total, CallWeight(count: 1, bytes: 1))
  }

  // ---- Other programs' formats ----

  func testCollapsedStacks() {
    let export = CollapsedExport(sites(), names: names)
    XCTAssertEqual(
      export.text(.bytes),
      """
      (no stack was recorded);App.Node 32
      Array.append(_:);swift_allocObject;Swift._ContiguousArrayStorage<App.Node> 100
      b();a();Array.append(_:);swift_allocObject;Swift._ContiguousArrayStorage<App.Node> 12345
      b();a();c();i();c();i();c();i();swift_allocObject;App.Node 960
      b();a();c();i();swift_allocObject;App.Node 2400
      b();a();swift_allocObject;App.Node 4800
      d();App.Node 48

      """)
    let counts = export.text(.count).split(separator: "\n").compactMap {
      $0.split(separator: " ").last.flatMap { Int($0) }
    }
    XCTAssertEqual(counts.reduce(0, +), 21)
  }

  func testSpeedscopeHasBothWeights() throws {
    let text = SpeedscopeExport(sites(), name: "App", names: names).text
    let document = try XCTUnwrap(JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let frames = try XCTUnwrap((document["shared"] as? [String: Any])?["frames"] as? [[String: Any]])
    let profiles = try XCTUnwrap(document["profiles"] as? [[String: Any]])
    XCTAssertEqual(document["$schema"] as? String, "https://www.speedscope.app/file-format-schema.json")
    XCTAssertEqual(profiles.map { $0["unit"] as? String }, ["bytes", "none"])
    for (profile, sum) in zip(profiles, [20_685, 21]) {
      let samples = try XCTUnwrap(profile["samples"] as? [[Int]])
      let weights = try XCTUnwrap(profile["weights"] as? [Int])
      XCTAssertEqual(samples.count, weights.count)
      XCTAssertEqual(weights.reduce(0, +), sum)
      XCTAssertEqual(profile["endValue"] as? Int, sum)
      XCTAssertTrue(samples.joined().allSatisfy(frames.indices.contains))
    }
    XCTAssertTrue(frames.contains { $0["name"] as? String == "i()" && $0["line"] as? Int == 3 })
    XCTAssertEqual(Set(frames.map { "\($0["name"] ?? "") \($0["line"] ?? "")" }).count, frames.count)
  }

  func testAProfileIsWhatItsFormatSays() {
    let bytes = PprofExport(sites(.all), start: 1_000, duration: 2_000, names: names).bytes
    var fields: [UInt64: Int] = [:]
    var strings: [String] = []
    // Top level alone: every field a varint or a message with its length.
    var at = 0
    func varint() -> UInt64 {
      var value: UInt64 = 0
      var shift: UInt64 = 0
      while true {
        let byte = bytes[at]
        at += 1
        value |= UInt64(byte & 0x7f) << shift
        shift += 7
        if byte < 0x80 { return value }
      }
    }
    while at < bytes.count {
      let key = varint()
      fields[key >> 3, default: 0] += 1
      let value = varint()
      guard key & 7 == 2 else { continue }
      if key >> 3 == 6 { strings.append(String(decoding: bytes[at..<at + Int(value)], as: UTF8.self)) }
      at += Int(value)
    }
    XCTAssertEqual(at, bytes.count)
    XCTAssertEqual(fields[1], 4, "sample types")
    XCTAssertEqual(fields[2], 7, "samples")
    XCTAssertEqual(fields[3], 3, "modules, and one of what has none")
    XCTAssertEqual(strings.first, "")
    XCTAssertTrue(Set(strings).isSuperset(of: ["inuse_space", "alloc_objects", "App.Node", "b()", "/src/i.swift"]))
    XCTAssertEqual(Set(strings).count, strings.count)
  }

  // ---- Two recordings ----

  private func compared(_ sites: AllocationSites, _ change: (inout TraceInformation) -> Void = { _ in })
    -> ComparedRecording
  {
    var information = Sample.information
    change(&information)
    return ComparedRecording(sites, subject: ReportSubject(information), names: names)
  }

  /// Another run: one stack grew, one is gone, one is new, stacks have other numbers.
  private var later: AllocationSites {
    func row(_ type: TypeIdentity, _ stack: UInt32, _ living: Int, _ bytes: Int64) -> AllocationSites.Row {
      .init(
        type: type, stack: StackID(rawValue: stack),
        tally: Tally(persistentCount: living, persistentBytes: ByteCount(bytes)))
    }
    return AllocationSites(
      lifespan: .living,
      rows: [
        row(Sample.node, 2, 110, 52_800), row(Sample.node, 3, 5, 2_400), row(Sample.array, 5, 1, 12_345),
        row(Sample.array, 7, 1, 100), row(Sample.node, 6, 1, 48), row(Sample.node, 0, 1, 32),
        row(Sample.long, 6, 2, 500),
      ])
  }

  private func comparison(_ matching: Comparison.Matching, showsAll: Bool = false) -> ComparisonReport {
    let (base, candidate) = (compared(sites()), compared(later) { $0.pid = 8 })
    return ComparisonReport(
      Comparison(base, candidate, by: matching), base: base, candidate: candidate, differences: [], showsAll: showsAll)
  }

  func testWhatChangedByTypeAndByStack() {
    for (matching, name) in [(Comparison.Matching.type, "compare"), (.stack, "compare-stacks")] {
      let text = comparison(matching).render(ReportOptions())
      assertGolden(text, "\(name).txt")
      assertFitsTheLine(text)
      assertGolden(comparison(matching).render(ReportOptions(format: .json)), "\(name).json")
    }
    assertGolden(comparison(.type, showsAll: true).render(ReportOptions(format: .csv)), "compare.csv")
  }

  func testARecordingComparedWithItselfHasNotChanged() {
    let one = compared(sites())
    for matching in Comparison.Matching.allCases {
      let same = Comparison(one, one, by: matching)
      XCTAssertEqual(same.growth, 0)
      let report = ComparisonReport(same, base: one, candidate: one, differences: [], showsAll: false)
      XCTAssertTrue(report.render(ReportOptions()).contains("nothing has changed"))
    }
  }

  func testRecordingsThatAreUnlikeSayHow() {
    var other = Sample.information
    XCTAssertEqual(Comparison.differences(Sample.information, other, by: .stack), [])
    other.capture = .partial
    other.info["malloc"] = "all"
    other.unwind = "none"
    other.lost = .init(births: 1, deaths: 2, others: 0)
    XCTAssertEqual(
      Comparison.differences(Sample.information, other, by: .stack),
      [
        "capture complete against partial", "blocks of malloc none against all", "unwinding  against none",
        "the candidate lost 3 events",
      ])
    XCTAssertEqual(Comparison.differences(Sample.information, other, by: .type).count, 3)
  }
}
