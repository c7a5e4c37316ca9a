// The life of one object. Made by Allocations.history(of:).

extension Allocations {
  /// What happened to one object, oldest first.
  public struct History: Sendable {
    /// One event.
    public struct Event: Sendable {
      /// What happened.
      public enum Kind: Sendable, Hashable {
        /// Allocated.
        case birth
        /// Retained so many times at once.
        case retain(Int)
        /// Released so many times at once.
        case release(Int)
        /// Its deinit begins.
        case deinitBegins
        /// Its deinit has ended; unowned references keep its memory.
        case deinitEnded
        /// Its deinit has ended and its memory is freed.
        case death
        /// The kept memory is freed.
        case free
        /// Moved or resized by realloc.
        case moved
        /// Referred to after its deinit, or left behind by it: what the runtime may end the program for.
        case misuse(Misuse)
        /// Something that this version has no word for.
        case other
      }

      /// What was done to an object whose deinit had begun or ended.
      public enum Misuse: Sendable, Hashable {
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
        /// Something that this version has no word for.
        case other
      }

      /// How a retain or a release came about.
      public enum Flavour: Sendable, Hashable {
        /// A strong reference.
        case strong
        /// A weak reference was read.
        case weakLoad
        /// An unowned reference was read.
        case unownedLoad
        /// A retain that is given up when the object dies.
        case tryRetain
        /// The compiler deinitialised the object without a last release.
        case devirtualised
        /// Something that this version has no word for.
        case other
      }

      /// What happened.
      public let kind: Kind
      /// How a retain or a release came about; nil for other events.
      public let flavour: Flavour?
      /// A retain or release in the object's deinit.
      public let isInDeinit: Bool
      /// The strong count before it; nil where it is not known.
      public internal(set) var countBefore: Int?
      /// The strong count after it; nil where it is not known.
      public internal(set) var countAfter: Int?
      /// When, in nanoseconds since the start of the recording.
      public let nanoseconds: UInt64
      /// On which thread.
      public let thread: ThreadNumber
      /// In which task; nil outside of tasks.
      public let task: TaskNumber?
      /// From where: return addresses, innermost first; empty where no stack was recorded.
      public let backtrace: [ReturnAddress]
    }

    /// The object's number in the recording; nil where its birth was not recorded.
    public let serial: Serial?
    /// Where it lies.
    public let address: Address
    /// Its type as reports print it; nil where its birth was not recorded.
    public let type: String?
    /// Its size in bytes.
    public let size: Int
    /// Its strong references by what was recorded, after the last of `events`; nil where not every retain and release of it
    /// was recorded: its type is not tracked, was tracked only after objects of it had been born, or a hook is missing.
    public let retainCount: Int?
    /// What the runtime itself counts (`swift_retainCount`), of the same moment unless another thread retains or releases it
    /// meanwhile. In a deinit the runtime says 1 and `retainCount` 0.
    public let runtimeRetainCount: Int
    /// Its events, oldest first; the newest ones of the recording are kept.
    public let events: [Event]
    /// How many older events of it are no longer kept.
    public let dropped: Int
    /// Why nothing is known, where nothing is recorded; nil otherwise.
    public let missing: NotRecording?
  }
}
