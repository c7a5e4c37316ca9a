// What a running recording answers to a mark: `NANOSECONDS NAME`. Made by RecordSession, read by MarkCommand.

/// A mark that was set.
struct MarkAnswer: Equatable, Sendable {
  /// Of the generation that it closes.
  let name: String
  /// Since the recording began.
  let nanoseconds: Int64

  init(name: String, nanoseconds: Int64) {
    self.name = name
    self.nanoseconds = nanoseconds
  }

  init?(line: String) {
    let parts = line.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, let nanoseconds = Int64(parts[0]) else { return nil }
    self.init(name: String(parts[1]), nanoseconds: nanoseconds)
  }

  var line: String { "\(nanoseconds) \(name)" }
}
