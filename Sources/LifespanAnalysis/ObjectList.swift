// The answer of ObjectsQuestion: single objects, and the same grouped by the stack that made them.
import LifespanTrace

/// Objects that a question asked for.
public struct ObjectList: Sendable, Codable, Equatable {
  /// The objects of one type that one stack made.
  public struct StackGroup: Sendable, Codable, Hashable {
    /// The type.
    public var type: TypeIdentity
    /// Where they were made.
    public var stack: StackID
    /// How many.
    public var count: Int
    /// Their bytes.
    public var bytes: ByteCount
    /// Those of `objects` that belong to the group, by number. Fewer than `count` where a limit cut the list.
    public var serials: [SerialNumber]

    /// Memberwise.
    public init(type: TypeIdentity, stack: StackID, count: Int, bytes: ByteCount, serials: [SerialNumber]) {
      self.type = type
      self.stack = stack
      self.count = count
      self.bytes = bytes
      self.serials = serials
    }
  }

  /// In the order of their births; the first `limit` of the question.
  public var objects: ObjectRecords
  /// All that matched, also beyond the limit.
  public var count: Int
  /// Bytes of all that matched.
  public var bytes: ByteCount
  /// All that matched, by type and stack; largest bytes first, then count, then stack.
  public var groups: [StackGroup]
  /// Objects that the filters leave, were deinitialised and are still there, as unowned references keep their memory;
  /// counted whatever the lifespan filter lists.
  public var keptCount: Int
  /// Their bytes.
  public var keptBytes: ByteCount

  /// Memberwise.
  public init(
    objects: ObjectRecords, count: Int, bytes: ByteCount, groups: [StackGroup], keptCount: Int = 0,
    keptBytes: ByteCount = .zero
  ) {
    self.objects = objects
    self.count = count
    self.bytes = bytes
    self.groups = groups
    self.keptCount = keptCount
    self.keptBytes = keptBytes
  }
}
