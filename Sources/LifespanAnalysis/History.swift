// The answer of a history question: one object's events with counts. Rendered by the history report.
import LifespanTrace

/// One object's life, event by event.
public struct History: Sendable, Codable, Equatable {
  /// What happened.
  public enum Kind: String, Sendable, Codable, Hashable {
    /// Born.
    case birth
    /// Retained.
    case retain
    /// Released.
    case release
    /// Its deinit begins.
    case deinitBegins
    /// Its deinit has ended, the memory is kept by unowned references.
    case deinitEnded
    /// Deinitialised and freed.
    case death
    /// The kept memory is freed.
    case free
    /// Freed by plain `free()`, deinit never seen.
    case plainFree
    /// Moved or resized by realloc.
    case moved
    /// Its address was used again without a death.
    case endNotSeen
    /// Referred to after its deinit had ended, or left behind by it.
    case misuse
  }

  /// How a retain or release came about.
  public enum Flavour: String, Sendable, Codable, Hashable {
    /// A plain one.
    case strong
    /// A weak reference was read.
    case weakLoad
    /// An unowned reference was read.
    case unownedLoad
    /// Tried, as it may be dying.
    case tryRetain
    /// The compiler turned the last release into a direct deinit.
    case devirtualised
    /// One that this version does not know.
    case other
  }

  /// What was done to an object whose deinit had begun or ended.
  public enum Misuse: String, Sendable, Codable, Hashable {
    /// Retained after its deinit.
    case retained
    /// Released after its deinit.
    case released
    /// An unowned reference to it was read after its deinit.
    case unownedRead
    /// Its deinit ended while strong references to it were left.
    case escaped
    /// Released in its deinit more often than retained there.
    case releasedBelowZero
    /// One that this version does not know.
    case other
  }

  /// One event.
  public struct Event: Sendable, Codable, Hashable {
    /// Its number in the object's life, from 1. The beginning of a deinit has that of the release that it came with.
    public var number: Int
    /// What happened.
    public var kind: Kind
    /// Retain and release: how.
    public var flavour: Flavour?
    /// Misuses: what was done.
    public var misuse: Misuse?
    /// Misuses: strong references that were left.
    public var left: Int?
    /// Retains and releases: the object's deinit had begun.
    public var isInDeinit: Bool
    /// What it changes in the strong count: +1 for a birth, +n, −n; 0 where it changes nothing.
    public var change: Int
    /// The strong count after it; nil where it is not known.
    public var countAfter: Int?
    /// When.
    public var time: TraceTime
    /// By which thread.
    public var thread: ThreadID
    /// By which task; nil outside tasks.
    public var task: TaskID?
    /// Where; `.none` where no stack was recorded.
    public var stack: StackID
    /// Births and moves: the address after it; nil where it is not known.
    public var address: ObjectAddress?
    /// Births and moves: the size after it.
    public var size: ByteCount?

    /// Memberwise.
    public init(
      number: Int, kind: Kind, flavour: Flavour? = nil, misuse: Misuse? = nil, left: Int? = nil,
      isInDeinit: Bool = false, change: Int, countAfter: Int?, time: TraceTime,
      thread: ThreadID, task: TaskID? = nil, stack: StackID, address: ObjectAddress? = nil, size: ByteCount? = nil
    ) {
      self.number = number
      self.kind = kind
      self.flavour = flavour
      self.misuse = misuse
      self.left = left
      self.isInDeinit = isInDeinit
      self.change = change
      self.countAfter = countAfter
      self.time = time
      self.thread = thread
      self.task = task
      self.stack = stack
      self.address = address
      self.size = size
    }
  }

  /// The object. By address: the newest one that lay there.
  public var object: ObjectRecord
  /// Its events in the order of the recording.
  public var events: [Event]
  /// By address: the other objects that lay there last, at most 999, oldest first; ask for them by @serial.
  public var others: [ObjectRecord]
  /// By address: how many lay there before those.
  public var earlierOthers: UInt64 = 0

  /// Memberwise.
  public init(object: ObjectRecord, events: [Event], others: [ObjectRecord] = []) {
    self.object = object
    self.events = events
    self.others = others
  }
}
