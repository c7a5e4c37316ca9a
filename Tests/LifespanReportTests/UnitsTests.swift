// Numbers, bytes, times, tables and JSON texts by themselves.
import XCTest

@testable import LifespanReport

final class UnitsTests: XCTestCase {
  func testCountsHaveSeparators() {
    XCTAssertEqual(
      [0, 999, 1_000, 1_204_331, -4_096].map { Units.count(Int64($0)) }, ["0", "999", "1,000", "1,204,331", "-4,096"])
    XCTAssertEqual(Units.count(Int64.min), "-9,223,372,036,854,775,808")
    XCTAssertEqual([5, 0, -5].map { Units.signed(Int64($0)) }, ["+5", "0", "-5"])
  }

  func testBytesAreExactWhileSmallAndRoundedLater() {
    let values: [Int64] = [0, 9_999, 10_000, 12_349, 1_048_575, 1_048_576, 3 << 30, -20_480, .max]
    XCTAssertEqual(
      values.map { Units.bytes($0) },
      [
        "0 B", "9,999 B", "9.77 KiB", "12.06 KiB", "1.00 MiB", "1.00 MiB", "3.00 GiB", "-20.00 KiB",
        "8,388,608.00 TiB",
      ])
  }

  func testTimesAreSecondsAndMayBeBeforeTheStart() {
    XCTAssertEqual(Units.seconds(12_400_000_000), "12.400 s")
    XCTAssertEqual(Units.seconds(-1_500_000), "-0.002 s")
    XCTAssertEqual(Units.seconds(-1), "0.000 s")
    XCTAssertEqual(Units.moment(12_345_678), "0.012346 s")
    XCTAssertEqual(Units.moment(Int64.max), "9,223,372,036.854776 s")
  }

  func testEveryWidthOfANameIsKept() {
    let name = "Module.VeryLongTypeName<Swift.Int>"
    for width in 2...40 {
      let short = ShortNames.shortened(name, to: width)
      XCTAssertLessThanOrEqual(short.count, width)
      if width >= name.count { XCTAssertEqual(short, name) }
    }
  }

  func testDifferentNamesNeverBecomeOne() {
    let inner = ["Alpha", "Bravo", "Charlie", "Delta"].map { "Module.Outer<Module.\($0)Kind, Swift.String>.Storage" }
    let ends = ["A", "B"].map { "\($0)Module.SomeVeryLongNameOfAType<With, Arguments>.Tail\($0)" }
    let alike = [3, 4, 5].map { String(repeating: "x", count: 30) + "\($0)" + String(repeating: "y", count: 60) }
    for width in [12, 20, 33, 60] {
      let names = inner + ends + alike + ["short"]
      let short = ShortNames.unique(names, to: width)
      let shown = names.map { short[$0] ?? $0 }
      XCTAssertEqual(Set(shown).count, names.count, "\(width): \(shown)")
    }
    let short = ShortNames.unique(inner + ends, to: 40)
    for name in inner + ends { XCTAssertEqual(short[name]?.count, 40, "\(short)") }
    XCTAssertEqual(ShortNames.unique(ends, to: 40)[ends[0]], ShortNames.shortened(ends[0], to: 40))
    // Nothing of so little width tells them apart: they stay whole.
    XCTAssertEqual(ShortNames.unique(["aaaaaaaaa", "aaaaaaaa"], to: 3).values.sorted(), ["aaaaaaaa", "aaaaaaaaa"])
    XCTAssertEqual(ShortNames.unique(["a", "b", "a"], to: 12), [:])
  }

  func testATableUsesAWideTerminalAndNeverLessThanAHundredColumns() {
    let name = "Module." + String(repeating: "Name", count: 40)
    var table = TextTable(columns: [.init(title: "# Total"), .init(title: "Type", isNumber: false, canShrink: true)])
    table.rows = [["1", name]]
    func width(_ terminal: Int?) -> Int? {
      table.lines(style: TextStyle(terminalWidth: terminal)).last?.count
    }
    XCTAssertEqual([width(nil), width(40), width(120), width(400)], [100, 100, 120, 9 + name.count])
  }

  func testOneThingIsNoPlural() {
    let objects = [0, 1, 2, 1_000].map { Units.things($0, "object") }
    XCTAssertEqual(objects, ["0 objects", "1 object", "2 objects", "1,000 objects"])
    XCTAssertEqual([0, 99_999_999, 12_499_999_999].map { Units.tenths($0) }, ["0.0 s", "0.0 s", "12.4 s"])
  }

  func testJSONEscapesWhatItMust() {
    let text = JSONValue.pairs(["a\"b": .string("tab\t, \\, \u{1}, é"), "list": .array([.integer(-1), .null])]).text
    XCTAssertEqual(text, "{\n \"a\\\"b\":\"tab\\t, \\\\, \\u0001, é\",\n \"list\":[-1,null]\n}")
  }

  func testCSVQuotesNamesWithCommas() {
    let grid = Grid(
      columns: [GridColumn(key: "type", title: "Type"), GridColumn(key: "count", title: "#")],
      rows: [[.word("Swift.Dictionary<A, B>"), .count(1_000)], [.word("say \"x\""), .bytes(20_000)]])
    XCTAssertEqual(grid.csvLines(), ["type,count", "\"Swift.Dictionary<A, B>\",1000", "\"say \"\"x\"\"\",20000"])
  }

  func testANameNeitherBreaksALineNorSpeaksToTheTerminal() {
    let name = "a\nb\t\u{1b}[31mred\u{202e}\u{9b} ünï😀 \\ \"c\""
    XCTAssertEqual(name.printable, "a\\nb\\t\\u{1B}[31mred\\u{202E}\\u{009B} ünï😀 \\ \"c\"")
    let grid = Grid(columns: [GridColumn(key: "name", title: "Name")], rows: [[.word("a\r\nb")]])
    XCTAssertEqual(grid.tableLines(style: TextStyle()), ["  Name", "a\\r\\nb"])
    XCTAssertEqual(grid.csvLines(), ["name", "\"a\r\nb\""])
  }
}
