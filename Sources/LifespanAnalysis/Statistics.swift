// The answer of StatisticsQuestion: one row a type. Rendered by the stats report.
import LifespanTrace

/// Counts by type.
public struct Statistics: Sendable, Codable, Equatable {
  /// One type's counts.
  public struct Row: Sendable, Codable, Hashable {
    /// The type.
    public var type: TypeIdentity
    /// Its counts.
    public var tally: Tally

    /// Memberwise.
    public init(type: TypeIdentity, tally: Tally) {
      self.type = type
      self.tally = tally
    }
  }

  /// The sum of all types of a kind.
  public struct KindTotal: Sendable, Codable, Hashable {
    /// The kind.
    public var kind: ObjectKind
    /// The sum.
    public var tally: Tally

    /// Memberwise.
    public init(kind: ObjectKind, tally: Tally) {
      self.kind = kind
      self.tally = tally
    }
  }

  /// The lifespan filter that chose the rows.
  public var lifespan: LifespanFilter
  /// The stretch looked at.
  public var window: TimeWindow
  /// The types that the filters leave; largest persistent bytes first, then total bytes, then name.
  public var rows: [Row]
  /// The sum of everything that the type filter leaves, whatever the lifespan filter hides. Without tokens,
  /// threads and regions, which are no memory of the heap, unless nothing else was asked for.
  public var total: Tally
  /// The same by kind, in the order of the kinds' numbers; only kinds that occur.
  public var totalsByKind: [KindTotal]
  /// Deaths of objects whose birth is not in the recording. Not in any row.
  public var unknownDeaths: Int

  /// Memberwise.
  public init(
    lifespan: LifespanFilter, window: TimeWindow = .whole, rows: [Row], total: Tally, totalsByKind: [KindTotal],
    unknownDeaths: Int = 0
  ) {
    self.lifespan = lifespan
    self.window = window
    self.rows = rows
    self.total = total
    self.totalsByKind = totalsByKind
    self.unknownDeaths = unknownDeaths
  }
}
