// A mark that the program has set. Made by Allocations.markGeneration.

extension Allocations {
  /// The end of a generation and the beginning of the next one.
  public struct Mark: Sendable, Hashable {
    /// Its name; nil where it has none.
    public let name: String?
    /// When it was set, in ticks since the start: its exact stamp, by which the recorder is asked for its number. nil:
    /// nothing was recorded.
    let ticks: UInt64?

    init(name: String?, ticks: UInt64?) {
      self.name = name
      self.ticks = ticks
    }

    /// Of a process in which nothing is recorded.
    @usableFromInline init(unrecorded name: String?) { self.init(name: name, ticks: nil) }

    /// Whether anything was recorded when the mark was set.
    public var isRecorded: Bool { ticks != nil }
  }
}
