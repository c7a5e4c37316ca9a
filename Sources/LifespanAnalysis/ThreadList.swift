// The answer of ThreadsQuestion: the threads of the recording. Rendered by the threads report.
import LifespanTrace

/// The threads of a recording, in the order of their numbers.
public struct ThreadList: Sendable, Codable, Equatable {
  /// One thread.
  public struct Row: Sendable, Codable, Hashable {
    /// Whether it still ran at the end of the recording.
    public enum State: String, Sendable, Codable, Hashable {
      /// It did.
      case living
      /// It has ended, and said so: `ended` is exact.
      case ended
      /// It was found to be gone: `ended` is when that was found, a moment later.
      case gone
    }

    /// Its number in the recording, 1 = main.
    public var thread: ThreadID
    /// The kernel's id.
    public var tid: UInt32
    /// Its last name.
    public var name: String
    /// Whether it lives.
    public var state: State
    /// When it was made; of a thread whose creation was not seen, when it came to be seen.
    public var born: TraceTime
    /// Its creation was seen. Of the main thread never: it is there from the start.
    public var isOriginKnown: Bool
    /// When it ended; nil while it lives.
    public var ended: TraceTime?
    /// From `born` to its end, or to the end of the recording, in nanoseconds.
    public var age: Int64
    /// The thread that made it; nil where that is not known.
    public var creator: ThreadID?
    /// Where it was made.
    public var stack: StackID
    /// The address of its start routine; 0 not known.
    public var start: UInt64
    /// Bytes of address space reserved for its stack; nil not known.
    public var stackBytes: ByteCount?
    /// Events of objects on it.
    public var events: Int
    /// Time of the last of them.
    public var lastEvent: TraceTime?

    /// Memberwise.
    public init(
      thread: ThreadID, tid: UInt32 = 0, name: String = "", state: State = .living, born: TraceTime = .start,
      isOriginKnown: Bool = false, ended: TraceTime? = nil, age: Int64 = 0, creator: ThreadID? = nil,
      stack: StackID = .none, start: UInt64 = 0, stackBytes: ByteCount? = nil, events: Int = 0,
      lastEvent: TraceTime? = nil
    ) {
      self.thread = thread
      self.tid = tid
      self.name = name
      self.state = state
      self.born = born
      self.isOriginKnown = isOriginKnown
      self.ended = ended
      self.age = age
      self.creator = creator
      self.stack = stack
      self.start = start
      self.stackBytes = stackBytes
      self.events = events
      self.lastEvent = lastEvent
    }
  }

  /// The lifespan filter that chose the rows.
  public var lifespan: LifespanFilter
  /// The threads that it leaves.
  public var rows: [Row]
  /// All threads that still ran at the end.
  public var livingCount: Int
  /// All threads that had ended.
  public var endedCount: Int

  /// Memberwise.
  public init(lifespan: LifespanFilter = .all, rows: [Row], livingCount: Int, endedCount: Int) {
    self.lifespan = lifespan
    self.rows = rows
    self.livingCount = livingCount
    self.endedCount = endedCount
  }
}
