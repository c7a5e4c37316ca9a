// The page as a file: its data, which objects are in it, and that nothing in a recording can become code.
import Foundation
import LifespanAnalysis
import LifespanTrace
import XCTest

@testable import LifespanReport

final class PageTests: XCTestCase {
  private static let viewer = PageViewer(
    document: "<title>{{title}}</title>{{policy}}<style>{{style}}</style>{{other}}<i>{{data}}</i>{{script}}",
    style: "b{}", script: "go()")

  private func facts(_ builder: TraceBuilder, objects: Int = 100) throws -> PageReport.Facts {
    let analysis = Analysis(try builder.trace())
    let (statistics, generations, sites, curve, threads, living, destroyed) = try analysis.answer(
      StatisticsQuestion(lifespan: .all), GenerationsQuestion(lifespan: .all), GenerationSitesQuestion(),
      LivingCurveQuestion(), ThreadsQuestion(), ObjectsQuestion(lifespan: .living),
      ObjectsQuestion(lifespan: .destroyed, limit: 2))
    var facts = PageReport.Facts(
      statistics: statistics, generations: generations, sites: sites, curve: curve, threads: threads)
    var chosen = PageObjects(living: living, destroyed: destroyed, limit: objects)
    chosen.histories = try analysis.answer(chosen.question)
    facts.objects = chosen
    return facts
  }

  private func builder(_ name: String = "App.Node") -> TraceBuilder {
    var builder = TraceBuilder()
    let node = builder.type(name, size: 48)
    let other = builder.type("App.Other", size: 16)
    for round in 0..<3 {
      for _ in 0..<10 { builder.birth(node) }
      builder.birth(other)
      for _ in 0..<2 { builder.death(builder.birth(node)) }
      builder.mark("\(name) \(round)")
    }
    return builder
  }

  private func document(_ facts: PageReport.Facts) throws -> [String: Any] {
    let report = PageReport(facts, subject: ReportSubject(Sample.information), names: Sample.names)
    let object = try JSONSerialization.jsonObject(with: Data(report.json()))
    return try XCTUnwrap(object as? [String: Any])
  }

  func testTheDataHasColumnsOfOneLengthAndNumbersOfWhatIsThere() throws {
    let page = try document(try facts(builder()))
    let texts = try XCTUnwrap(page["texts"] as? [String])
    for (section, refers) in [("types", ["name", "kind", "module"]), ("threads", ["name", "state"])] {
      let table = try XCTUnwrap(page[section] as? [String: Any])
      for key in refers {
        let column = try XCTUnwrap(table[key] as? [Int], key)
        XCTAssertTrue(column.allSatisfy { texts.indices.contains($0) || $0 == -1 }, "\(section).\(key)")
      }
    }
    for section in ["statistics", "sites", "histories", "stacks", "frames", "nodes", "curve"] {
      let table = try XCTUnwrap(page[section] as? [String: Any])
      let lengths = table.compactMap { key, value in
        key.hasPrefix("cut_") ? nil : (value as? [Int])?.count
      }
      XCTAssertEqual(Set(lengths).count, 1, "\(section): \(lengths)")
    }
    let generations = try XCTUnwrap(page["generations"] as? [String: Any])
    XCTAssertEqual((generations["rows"] as? [Any])?.count, 4)
    XCTAssertEqual(generations["persistent_count"] as? [Int], [11, 11, 11, 0])
    XCTAssertTrue(page["heap"] is NSNull && page["resident"] is NSNull)
  }

  func testOfTooManyObjectsEveryTypeHasTheNewest() throws {
    let objects = try XCTUnwrap(try facts(builder(), objects: 8).objects)
    XCTAssertEqual(objects.livingCount, 33)
    XCTAssertEqual(objects.newestOfType, 5)
    let living = objects.objects.filter { $0.died == nil }
    XCTAssertEqual(living.filter { $0.type.name == "App.Node" }.count, 5)
    XCTAssertEqual(living.filter { $0.type.name == "App.Other" }.count, 3)
    XCTAssertEqual(living.map(\.serial.rawValue), living.map(\.serial.rawValue).sorted())
    // The newest of them all is there, the oldest is not.
    XCTAssertFalse(living.contains { $0.serial.rawValue == 1 })
    XCTAssertEqual(objects.destroyedCount, 6)
    XCTAssertEqual(objects.objects.count - living.count, 2)
    let all = try XCTUnwrap(try facts(builder(), objects: 33).objects)
    XCTAssertNil(all.newestOfType)
    XCTAssertEqual(all.objects.count, 35)
  }

  func testAShareIsTheLargestThatFits() {
    for counts in [[], [1], [5, 5], [100, 1, 1], [3, 2, 9, 40]] as [[Int]] {
      for limit in 0...60 {
        let share = PageObjects.share(of: counts, limit: limit)
        func sum(_ most: Int) -> Int { counts.reduce(0) { $0 + min($1, most) } }
        XCTAssertLessThanOrEqual(sum(share), limit)
        XCTAssertTrue(share == limit || sum(share + 1) > limit, "\(counts), \(limit): \(share)")
      }
    }
  }

  func testNamesCannotLeaveTheDataNorTurnWhatIsAroundThem() throws {
    let name = "App.</script><!--<b>&\u{2028}\u{2029}\u{202e}\u{0}\"\\\n\u{1f600}é"
    let report = PageReport(try facts(builder(name)), subject: ReportSubject(Sample.information), names: Sample.names)
    let text = String(decoding: report.json(), as: UTF8.self)
    for harmful in ["<", ">", "&", "\u{2028}", "\u{2029}", "\u{202e}", "\n"] {
      XCTAssertFalse(text.contains(harmful), "\(harmful.unicodeScalars.map(\.value))")
    }
    // It comes back as reports print it.
    let texts = try XCTUnwrap(try document(try facts(builder(name)))["texts"] as? [String])
    XCTAssertTrue(texts.contains("\(name) 1".printable), "\(texts)")
  }

  func testTheDocumentNamesItsOwnCodeAndLeavesUnknownPlaces() throws {
    var information = Sample.information
    information.program = "/home/</title><script>"
    let report = PageReport(try facts(builder()), subject: ReportSubject(information), names: Sample.names)
    let text = String(decoding: report.html(Self.viewer), as: UTF8.self)
    XCTAssertTrue(text.hasPrefix("<title>title&gt;&lt;script&gt; – Lifespan</title>default-src 'none'; "), text)
    let digest = PageDocument.base64(SHA256.digest(of: "go()".utf8))
    XCTAssertTrue(text.contains("script-src 'sha256-\(digest)'; style-src 'sha256-"), text)
    XCTAssertTrue(text.contains("{{other}}") && text.hasSuffix("go()"), text)
  }

  func testDigestsAreTheStandards() {
    func hex(_ text: String) -> String {
      SHA256.digest(of: text.utf8).map { String(Int($0) + 0x100, radix: 16).suffix(2) }.joined()
    }
    XCTAssertEqual(hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
    XCTAssertEqual(hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    XCTAssertEqual(
      hex(String(repeating: "a", count: 1_000_000)), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    // Every length around a block's end.
    for length in 50...70 {
      XCTAssertEqual(SHA256.digest(of: [UInt8](repeating: 7, count: length)).count, 32)
    }
  }

  func testBase64IsFoundations() {
    for length in 0...10 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 47 + 200) }
      XCTAssertEqual(PageDocument.base64(bytes), Data(bytes).base64EncodedString())
    }
  }
}
