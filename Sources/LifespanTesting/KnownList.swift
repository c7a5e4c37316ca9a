// Survivors that are known in the whole process.
internal import Foundation

final class KnownList: @unchecked Sendable {
  private let lock = NSLock()
  private var list: [Known] = []

  var all: [Known] { lock.withLock { list } }
  func add(_ known: Known) { lock.withLock { list.append(known) } }
}
