// The answer to "what is leaked": groups of leaks that are the same but for their addresses. Made by LeakSearch.
import LifespanAnalysis
import LifespanTrace

/// What holds a leak together.
public enum LeakKind: String, Sendable, Codable, Hashable {
  /// Objects that hold each other.
  case cycle
  /// An object whose last reference was lost.
  case root
  /// A task that waits for what nobody can do any more.
  case suspendedTask = "suspended-task"
}

/// So many objects of one type.
public struct HeapRow: Sendable, Hashable {
  /// The type.
  public var type: TypeIdentity
  /// How many.
  public var count: Int
  /// Their bytes.
  public var bytes: UInt64
}

/// Leaks of one fingerprint: the same type, cycle and allocating functions.
public struct LeakGroup: Sendable, Hashable {
  /// The same in every run in which the leak is the same.
  public var fingerprint: String
  /// Cycle, root, suspended task.
  public var kind: LeakKind
  /// The type of the head: what is to be looked at first.
  public var head: TypeIdentity
  /// Where the first of the heads was made.
  public var stack: StackID
  /// How many such leaks there are.
  public var instances: Int
  /// Objects in the heads themselves: those of the cycle.
  public var headCount: Int
  /// Their bytes.
  public var headBytes: UInt64
  /// Objects and blocks that only they hold.
  public var belowCount: Int
  /// Their bytes.
  public var belowBytes: UInt64
  /// Of a cycle its objects, each with the property that holds the next, the head first. At most 64 are kept.
  public var cycle: [HeapStep]
  /// How many objects the cycle has.
  public var cycleLength: Int
  /// Every type in the leaks and below them, with how many; the head's type first.
  public var rows: [HeapRow]
  /// Made by a library of the toolchain for itself, and nothing of the program's in it.
  public var isToolchains: Bool
  /// Why the toolchain loses such heads whatever the program does; nil where that is not known of them.
  public var reason: String?
  /// Where some of the heads lie.
  public var examples: [HeapStep]
  /// What identifies it, in words: the text behind the fingerprint.
  public var signature: String

  /// Objects and blocks, heads and below.
  public var totalCount: Int { headCount + belowCount }
  /// Their bytes.
  public var totalBytes: UInt64 { headBytes + belowBytes }
}

/// What a picture says of leaks.
public struct HeapLeaks: Sendable {
  /// Groups, the program's own first, then largest first.
  public var groups: [LeakGroup]
  /// Why none can be told; nil where they can.
  public var withheld: String?
}
