// Processes that the program left behind and that may still say hello: `sh -c 'app &'` ends before `app` has begun.
// Asked by RecordSession when the program has ended.

import Glibc

/// How long they are waited for, and whether there are any.
struct Latecomers {
  /// Between two looks.
  static let pause: Int32 = 20
  /// From fork to hello a process needs milliseconds; on a machine that is very busy a second.
  private static let patience = 100

  /// A process that is being executed shows no environment for a moment: one look that finds none is no proof.
  private static let certainty = 3

  private var looks = 0
  private var misses = 0

  /// True while a process of this session lives that has not said hello: it is still between fork and its first
  /// instruction. /proc shows with which environment a process was executed.
  mutating func mayCome(session: String, greeted: Set<Int32>) -> Bool {
    looks += 1
    guard looks <= Self.patience else { return false }
    misses = Self.isThere(session: session, greeted: greeted) ? 0 : misses + 1
    return misses < Self.certainty
  }

  private static func isThere(session: String, greeted: Set<Int32>) -> Bool {
    guard let folder = opendir("/proc") else { return false }
    defer { closedir(folder) }
    let word = Array("\(EnvironmentVariable.session.name)=\(session)".utf8) + [0]
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      guard let pid = Int32(name), pid != getpid(), !greeted.contains(pid) else { continue }
      if ProcessFacts.contents("/proc/\(pid)/environ").contains(word) { return true }
    }
    return false
  }
}

extension Array where Element == UInt8 {
  fileprivate func contains(_ word: [UInt8]) -> Bool {
    guard count >= word.count, let first = word.first else { return false }
    return indices.dropLast(word.count - 1).contains { at in
      self[at] == first && self[at..<at + word.count].elementsEqual(word)
    }
  }
}
