// The trace of a failure: saved to a file, attached where the framework can. Made once for each failure.
internal import Foundation
import Lifespan

struct KeptTrace {
  /// nil: it could not be written; `line` says why.
  let path: String?
  let line: String

  private static let lock = NSLock()
  nonisolated(unsafe) private static var count = 0
  /// So many are kept in one process: a test that fails in a loop must not fill a disk.
  static let most = 20

  static var folder: String {
    Session.environment["LIFESPAN_TRACES"] ?? NSTemporaryDirectory() + "lifespan-traces"
  }

  /// Saves what is recorded now.
  static func keep(at site: CallSite) -> KeptTrace {
    let number = lock.withLock {
      count += 1
      return count
    }
    guard number <= most else { return KeptTrace(path: nil, line: "trace: not kept, \(most) were before") }
    let test = (Frameworks.testName ?? "test").map { $0.isLetter || $0.isNumber || $0 == "-" ? $0 : "_" }
    let name = "\(String(test)).\(ProcessInfo.processInfo.processIdentifier)-\(number).lifespan"
    let path = folder + "/" + name
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try Allocations.save(to: path)
    } catch {
      return KeptTrace(path: nil, line: "trace: not kept: \(error)")
    }
    Frameworks.attach(path, named: name, at: site)
    return KeptTrace(path: path, line: "trace: \(path)")
  }
}
