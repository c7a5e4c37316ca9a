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
      /// The strong count before it; nil where it is not known.
      public let countBefore: Int?
      /// The strong count after it; nil where it is not known.
      public let countAfter: Int?
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
    /// Its events, oldest first; the newest ones of the recording are kept.
    public let events: [Event]
    /// How many older events of it are no longer kept.
    public let dropped: Int
    /// Why nothing is known, where nothing is recorded; nil otherwise.
    public let missing: NotRecording?
  }
}
