// The answer of RoundTripQuestion: what lived before one round, what was born inside and is left, what lived after it. Rendered by
// the round's report.
import LifespanTrace

/// One round: its suspects, beside what lived before and after.
///
/// A suspect is an object that was born inside and lived at the round's end. One round is evidence, no verdict: a cache that was
/// filled is among them.
public struct RoundTrip: Sendable, Codable, Equatable {
  /// Suspects of one type that one stack made.
  public struct Site: Sendable, Codable, Hashable {
    /// Where they were made.
    public var stack: StackID
    /// How many.
    public var count: Int
    /// Their bytes.
    public var bytes: ByteCount
    /// How many of them live at the end of the recording.
    public var living: Int
    /// Some of them, the newest first: of those that live at the end of the recording, where there are such.
    public var examples: [SerialNumber]

    /// Memberwise.
    public init(stack: StackID, count: Int, bytes: ByteCount, living: Int, examples: [SerialNumber]) {
      self.stack = stack
      self.count = count
      self.bytes = bytes
      self.living = living
      self.examples = examples
    }
  }

  /// One type that has suspects.
  public struct Row: Sendable, Codable, Hashable {
    /// The type.
    public var type: TypeIdentity
    /// Objects that lived when the round began.
    public var before: Int
    /// Suspects.
    public var inside: Int
    /// Their bytes.
    public var insideBytes: ByteCount
    /// Objects that lived when the round was over.
    public var after: Int
    /// Suspects that live at the end of the recording; the others died late.
    public var living: Int
    /// The suspects by the stack that made them; most bytes first.
    public var sites: [Site]

    /// Memberwise.
    public init(
      type: TypeIdentity, before: Int, inside: Int, insideBytes: ByteCount, after: Int, living: Int, sites: [Site]
    ) {
      self.type = type
      self.before = before
      self.inside = inside
      self.insideBytes = insideBytes
      self.after = after
      self.living = living
      self.sites = sites
    }
  }

  /// Numbers without a type.
  public struct Total: Sendable, Codable, Hashable {
    /// Objects that lived when the round began.
    public var before = 0
    /// Their bytes.
    public var beforeBytes = ByteCount.zero
    /// Suspects.
    public var inside = 0
    /// Their bytes.
    public var insideBytes = ByteCount.zero
    /// Objects that lived when the round was over.
    public var after = 0
    /// Suspects that live at the end of the recording.
    public var living = 0

    /// All zero.
    public init() {}
  }

  /// Types with suspects; most bytes first, then most objects, then name.
  public var rows: [Row]
  /// The sum of all types, without suspects too. Without tokens, threads and regions unless nothing else was asked for.
  public var total: Total
  /// The sums of those, by kind; empty where there are none, or where `total` is of them.
  public var apart: [ObjectKind: Total]

  /// Suspects, tokens and regions among them.
  public var suspects: Int { total.inside &+ (apart[.token]?.inside ?? 0) &+ (apart[.vm]?.inside ?? 0) }

  /// Memberwise.
  public init(rows: [Row], total: Total, apart: [ObjectKind: Total] = [:]) {
    self.rows = rows
    self.total = total
    self.apart = apart
  }
}
