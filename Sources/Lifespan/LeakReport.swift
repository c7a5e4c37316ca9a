// What Allocations.leaks() answers.

extension Allocations {
  /// What nothing in the program can reach any more, and what that rests on.
  public struct LeakReport: Sendable, Hashable {
    /// Leaks that are the same but for their addresses: of one kind, type, cycle and allocating stack.
    public struct Leak: Sendable, Hashable {
      /// What holds a leak together.
      public enum Kind: String, Sendable, Hashable {
        /// Objects that hold each other.
        case cycle
        /// An object whose last reference was lost.
        case root
        /// A task that waits for what nobody can do any more.
        case suspendedTask = "suspended-task"
      }

      /// Objects of one type in a leak, or below it.
      public struct Row: Sendable, Hashable {
        /// The type, as in ``StatisticsRow/type``.
        public let type: String
        /// What its objects are; nil where that is not known.
        public let kind: Allocations.Kind?
        /// How many.
        public let count: Int
        /// Bytes of their memory.
        public let bytes: Int
      }

      /// What holds it together.
      public let kind: Kind
      /// The type to look at first: of a cycle one of the program's own classes, else what nothing holds.
      public let type: String
      /// How many such leaks there are.
      public let instances: Int
      /// Objects and blocks in all of them, and what only they hold.
      public let count: Int
      /// Bytes of their memory.
      public let bytes: Int
      /// The same by type, ``type`` first.
      public let rows: [Row]
      /// Of a cycle its objects, each with the property that holds the next; the last one holds the first. At most 64 are named.
      public let cycle: [Reference]
      /// How many objects the cycle has; 0 where there is none.
      public let cycleLength: Int
      /// Where the first of them lies.
      public var address: Address { Address(rawValue: ~place) }
      /// Not the address itself: an answer that is kept must not look like a reference to what it tells of.
      let place: UInt64
      /// The number of that one in the recording.
      public let serial: Serial?
      /// From where it was allocated: return addresses, innermost first; empty where no stack was recorded.
      public let backtrace: [ReturnAddress]
      /// Nothing of the program's own types is in it: a library of the toolchain has lost it.
      public let isToolchains: Bool
    }

    /// The leaks, the program's own first, then those with most bytes.
    public let leaks: [Leak]
    /// Why no leak can be told; nil where they can.
    public let withheld: String?
    /// Everything that can hold an object was known, so that no leak was missed; where false, ``notes`` say why.
    public let isComplete: Bool
    /// What limits the answer, a sentence each.
    public let notes: [String]
    /// Objects and blocks that were looked at.
    public let objectsChecked: Int
    /// Variables, stacks, registers and other words outside of the heap that refer to one of them.
    public let roots: Int
    /// How long the program's threads stood still for it.
    public let pauseNanoseconds: UInt64
    /// An object in a leak or below one: its number, and that of the leak's first head.
    package struct Lost: Sendable, Hashable {
      package let serial: UInt64
      package let leak: UInt64
    }
    package let lost: [Lost]

    /// Objects of a type in all leaks and below them, by its name as the rows print it.
    public func count(ofType name: String) -> Int {
      leaks.reduce(0) { $1.rows.reduce($0) { $1.type == name ? $0 + $1.count : $0 } }
    }
  }
}
