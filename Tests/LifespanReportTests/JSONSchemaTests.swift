// The documents of the goldens, and of commands that say what is so now, against the schemas that the documentation shows.
import Foundation
import XCTest

final class JSONSchemaTests: XCTestCase {
  private var tests: URL { URL(fileURLWithPath: #filePath).deletingLastPathComponent() }

  func testEveryDocumentIsAsTheDocumentationSays() throws {
    let page = tests.appendingPathComponent("../../Sources/LifespanReport/LifespanReport.docc/JSON.md")
    let schemas = try JSONSchema.all(inMarkdown: String(contentsOf: page, encoding: .utf8))
    let goldens = [
      "stats": ["stats", "stats-empty", "stats-incomplete", "stats-resident", "stats-size", "stats-peak"],
      "export --format json": ["export"],
      "generations": ["generations", "generation-objects"],
      "diff": ["diff"], "objects": ["objects"], "history": ["history", "history-groups", "history-unpaired"],
      "dump": ["dump", "dump-cut"],
      "tree": ["tree"], "compare": ["compare", "compare-stacks"], "explain": ["explain"],
      "threads": ["threads"],
      "leaks": ["leaks", "leaks-withheld"], "holders": ["holders", "holders-leaked"],
      "growth": ["growth", "growth-withheld"], "growth --round": ["round"],
    ]
    let ofNow = [
      "list": [["list", "--json"]], "doctor": [["doctor", "--json"], ["doctor", "--json", "ls"]],
      "doctor --refcounts": [["doctor", "--refcounts", "--json", "--", "true"]],
    ]
    // They need a recording that runs: SessionTests holds their documents against the page.
    let ofRunning: Set = ["mark", "start"]
    func command(_ title: String) -> String {
      title.split(separator: " ").filter { $0 != "lifespan" && $0 != "--json" }.joined(separator: " ")
    }
    let titles = schemas.map { command($0.title) }
    XCTAssertEqual(Set(titles), Set(goldens.keys).union(ofNow.keys).union(ofRunning))
    XCTAssertEqual(titles.count, Set(titles).count)
    for schema in schemas {
      let command = command(schema.title)
      for words in ofNow[command] ?? [] {
        let document = Data(try CommandRun(words, in: temporaryFolder(self)).stdout.utf8)
        XCTAssertEqual(schema.problems(of: try JSONSerialization.jsonObject(with: document)), [], "\(words)")
      }
      for name in goldens[command] ?? [] {
        let document = try Data(contentsOf: tests.appendingPathComponent("Goldens/\(name).json"))
        XCTAssertEqual(schema.problems(of: try JSONSerialization.jsonObject(with: document)), [], name)
      }
    }
  }

  func testTheCheckItselfSeesMissingUnknownAndWrongMembers() throws {
    let text = """
      ```json
      {"title": "t", "type": "object", "properties": {"a": {"type": "integer"}, "b": {"enum": ["x", null]}},
       "required": ["a"], "additionalProperties": false}
      ```
      """
    let schema = try XCTUnwrap(JSONSchema.all(inMarkdown: text).first)
    func problems(_ document: String) throws -> Int {
      schema.problems(of: try JSONSerialization.jsonObject(with: Data(document.utf8))).count
    }
    XCTAssertEqual(try problems(#"{"a": 1, "b": null}"#), 0)
    XCTAssertEqual(try problems(#"{"b": "y"}"#), 2)
    XCTAssertEqual(try problems(#"{"a": true}"#), 1)
    XCTAssertEqual(try problems(#"{"a": 1, "c": 1}"#), 1)
  }
}
