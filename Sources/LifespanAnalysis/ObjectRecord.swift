// One object and all that the recording says about it. Part of the answers of ObjectsQuestion and HistoryQuestion.
import LifespanTrace

/// One object.
public struct ObjectRecord: Sendable, Codable, Hashable {
  /// Where an object stands in its life at the end of the time looked at.
  public enum State: String, Sendable, Codable, Hashable {
    /// It lives.
    case living
    /// Deinitialised; unowned references keep the memory.
    case deinitedMemoryKept
    /// Gone.
    case freed
    /// Its address was used again without a death: the recording has a hole.
    case endNotSeen
  }

  /// Its number.
  public var serial: SerialNumber
  /// Where it lies or lay last; nil where the recording holds no addresses.
  public var address: ObjectAddress?
  /// Its type.
  public var type: TypeIdentity
  /// Its size, the last one when it was resized.
  public var size: ByteCount
  /// When it was born.
  public var born: TraceTime
  /// When its deinit ended (or it was freed without one); nil while it lives.
  public var died: TraceTime?
  /// When its memory was freed; nil while that is kept.
  public var freed: TraceTime?
  /// Nanoseconds from birth to death, or to the end of the time looked at.
  public var age: Int64
  /// The thread that made it.
  public var thread: ThreadID
  /// The task that made it; nil outside tasks.
  public var task: TaskID?
  /// Where it was made.
  public var stack: StackID
  /// The generation that it was born in.
  public var generation: Generation
  /// Living, kept, freed, or end not seen.
  public var state: State
  /// Its strong count, by what was recorded; nil where it is not known, and of what does not live.
  public var retainCount: Int?
  /// Nanoseconds since it was last retained or released, or born; nil where these were not recorded, and of what does not
  /// live.
  public var idle: Int64?

  /// Memberwise.
  public init(
    serial: SerialNumber, address: ObjectAddress?, type: TypeIdentity, size: ByteCount, born: TraceTime,
    died: TraceTime? = nil, freed: TraceTime? = nil, age: Int64, thread: ThreadID, task: TaskID? = nil,
    stack: StackID, generation: Generation, state: State, retainCount: Int? = nil, idle: Int64? = nil
  ) {
    self.serial = serial
    self.address = address
    self.type = type
    self.size = size
    self.born = born
    self.died = died
    self.freed = freed
    self.age = age
    self.thread = thread
    self.task = task
    self.stack = stack
    self.generation = generation
    self.state = state
    self.retainCount = retainCount
    self.idle = idle
  }
}
