// Compares a whole output with a file in Goldens. Used by every renderer's tests.
import Foundation
import XCTest

/// Fails unless `text` is exactly the golden file. With LIFESPAN_RECORD_GOLDENS=1 the file is written anew, and the test
/// fails all the same: a recording run proves nothing.
func assertGolden(_ text: String, _ name: String, file: StaticString = #filePath, line: UInt = #line) {
  let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
  let golden = folder.appendingPathComponent("Goldens/\(name)")
  if ProcessInfo.processInfo.environment["LIFESPAN_RECORD_GOLDENS"] == "1" {
    do {
      try Data(text.utf8).write(to: golden)
      XCTFail("recorded \(name): look at the difference, then run without the variable", file: file, line: line)
    } catch {
      XCTFail("cannot record \(name): \(error)", file: file, line: line)
    }
    return
  }
  guard let expected = try? String(contentsOf: golden, encoding: .utf8) else {
    return XCTFail("no golden \(name): record it with LIFESPAN_RECORD_GOLDENS=1", file: file, line: line)
  }
  guard text != expected else { return }
  let got = text.split(separator: "\n", omittingEmptySubsequences: false)
  let want = expected.split(separator: "\n", omittingEmptySubsequences: false)
  let place = zip(got, want).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(got.count, want.count)
  let wanted = place < want.count ? String(want[place]) : "(end)"
  let found = place < got.count ? String(got[place]) : "(end)"
  XCTFail("\(name):\(place + 1)\n expected: \(wanted)\n      got: \(found)", file: file, line: line)
}

/// Every line of a table fits.
func assertFitsTheLine(_ text: String, file: StaticString = #filePath, line: UInt = #line) {
  for row in text.split(separator: "\n") where row.count > 100 {
    XCTFail("\(row.count) columns: \(row)", file: file, line: line)
  }
}
