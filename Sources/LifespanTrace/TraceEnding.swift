// Where and why reading a trace stopped. What was read before it is whole and counts.

/// How a trace ends. Every end is legal: a recorder only appends whole chunks, and may be killed at any time.
public struct TraceEnding: Sendable, Codable, Hashable {
  /// Why reading stopped.
  public enum Reason: Sendable, Codable, Hashable {
    /// The recorder finished the file.
    case whole
    /// The last chunk is whole, but the recorder wrote no end: killed between two chunks, or still recording.
    case unfinished
    /// The file ends inside a chunk: killed, a full disk, or still recording.
    case cut
    /// The chunk at the offset is damaged; the text says what is wrong with it.
    case damaged(String)
  }

  /// Bytes from the start of the file: everything before is whole.
  public var offset: UInt64
  /// Why.
  public var reason: Reason

  /// Memberwise.
  public init(offset: UInt64, reason: Reason) {
    self.offset = offset
    self.reason = reason
  }

  /// One sentence with the offset and what can be done; empty for a whole trace.
  public var sentence: String {
    switch reason {
    case .whole: ""
    case .unfinished: "the recording has no end after byte \(offset): the recorder was killed, or still records"
    case .cut: "cut at byte \(offset): the recorder was killed, the disk is full, or it still records"
    case .damaged(let what): "damaged at byte \(offset) (\(what)): what stands before is reported; record again"
    }
  }
}
