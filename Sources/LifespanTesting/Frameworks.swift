// Which test framework runs, and how it is told of a failure. XCTFail in a test of Swift Testing and Issue.record in an XCTestCase pass
// without a word, so each failure goes to the framework whose test runs.
internal import Foundation
internal import Testing
internal import XCTest

/// Where an assertion stands.
struct CallSite: Sendable {
  let fileID: StaticString
  let filePath: StaticString
  let line: UInt
  let column: UInt
  /// Of a test that is not known before it runs.
  var source: SourceLocation?

  var inTesting: SourceLocation {
    source
      ?? SourceLocation(fileID: "\(fileID)", filePath: "\(filePath)", line: Int(line), column: Int(max(column, 1)))
  }
}

enum Frameworks {
  enum Framework { case testing, xctest }

  private static let observer = Observer()

  /// From now on the running XCTestCase is known. Before the first one.
  static func observe() { XCTestObservationCenter.shared.addTestObserver(observer) }

  /// By the current test, which tasks inherit; a detached task or a block on a queue has none: by what runs in the process.
  static var current: Framework {
    if Test.current != nil { return .testing }
    return observer.running != nil ? .xctest : .testing
  }

  /// The running test's name, for files.
  static var testName: String? {
    if let test = Test.current { return test.name.prefix { $0 != "(" }.description }
    return observer.running.map { $0.replacingOccurrences(of: ".", with: "-") }
  }

  static func fail(_ text: String, at site: CallSite) {
    switch current {
    case .testing: Issue.record(Comment(rawValue: text), sourceLocation: site.inTesting)
    case .xctest: XCTFail(text, file: site.filePath, line: site.line)
    }
  }

  /// Something that is no failure.
  static func warn(_ text: String, at site: CallSite) {
    switch current {
    case .testing where Test.current != nil:
      Issue.record(Comment(rawValue: text), severity: .warning, sourceLocation: site.inTesting)
    default: FileHandle.standardError.write(Data("\(site.filePath):\(site.line): warning: \(text)\n".utf8))
    }
  }

  /// Keeps a file with the test's results; XCTest on Linux can't.
  static func attach(_ path: String, named name: String, at site: CallSite) {
    guard Test.current != nil, let data = FileManager.default.contents(atPath: path) else { return }
    Attachment.record([UInt8](data), named: name, sourceLocation: site.inTesting)
  }
}

/// Knows which XCTestCase runs.
private final class Observer: NSObject, XCTestObservation, @unchecked Sendable {
  private let lock = NSLock()
  private var name: String?

  var running: String? { lock.withLock { name } }

  func testCaseWillStart(_ testCase: XCTestCase) { lock.withLock { name = testCase.name } }
  func testCaseDidFinish(_ testCase: XCTestCase) { lock.withLock { name = nil } }
}
