// The answer of DifferenceQuestion: new, dead and survived between two moments. Rendered by the diff report.
import LifespanTrace

/// What changed between two moments, by type.
public struct Difference: Sendable, Codable, Equatable {
  /// A number of objects and their bytes.
  public struct Amount: Sendable, Codable, Hashable {
    /// Objects.
    public var count: Int
    /// Their bytes.
    public var bytes: ByteCount

    /// Memberwise.
    public init(count: Int = 0, bytes: ByteCount = .zero) {
      self.count = count
      self.bytes = bytes
    }

    /// Adds another row's.
    public static func += (left: inout Amount, right: Amount) {
      left.count &+= right.count
      left.bytes += right.bytes
    }
  }

  /// The four sets that an object can be in.
  public struct Change: Sendable, Codable, Hashable {
    /// Born between the moments and living at the second.
    public var new: Amount
    /// Living at the first moment, dead at the second.
    public var dead: Amount
    /// Living at both.
    public var survived: Amount
    /// Born and died between them.
    public var transient: Amount

    /// Memberwise.
    public init(
      new: Amount = Amount(), dead: Amount = Amount(), survived: Amount = Amount(), transient: Amount = Amount()
    ) {
      self.new = new
      self.dead = dead
      self.survived = survived
      self.transient = transient
    }

    /// Adds another row's.
    public static func += (left: inout Change, right: Change) {
      left.new += right.new
      left.dead += right.dead
      left.survived += right.survived
      left.transient += right.transient
    }

    /// The changes of two rows together.
    public static func + (left: Change, right: Change) -> Change {
      var sum = left
      sum += right
      return sum
    }
  }

  /// One type's changes.
  public struct Row: Sendable, Codable, Hashable {
    /// The type.
    public var type: TypeIdentity
    /// Its changes.
    public var change: Change

    /// Memberwise.
    public init(type: TypeIdentity, change: Change) {
      self.type = type
      self.change = change
    }
  }

  /// The first moment.
  public var from: Moment
  /// The second.
  public var to: Moment
  /// Types with any change or survivor; most net new bytes (new − dead) first, then name.
  public var rows: [Row]
  /// The sum, without tokens, threads and regions unless nothing else was asked for: they are no memory of the heap.
  public var total: Change
  /// The sums of those, by kind; empty where there are none, or where `total` is of them.
  public var apart: [ObjectKind: Change]

  /// Objects that came and stayed, and tokens and regions that did.
  public var survivors: Int {
    total.new.count &+ (apart[.token]?.new.count ?? 0) &+ (apart[.vm]?.new.count ?? 0)
  }

  /// Memberwise.
  public init(from: Moment, to: Moment, rows: [Row], total: Change, apart: [ObjectKind: Change] = [:]) {
    self.from = from
    self.to = to
    self.rows = rows
    self.total = total
    self.apart = apart
  }
}
