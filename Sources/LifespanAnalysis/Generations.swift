// The answer of GenerationsQuestion: growth and # persistent per generation. Rendered by the generations report.
import LifespanTrace

/// What is left of the objects of each generation.
public struct Generations: Sendable, Codable, Equatable {
  /// One type's share of a generation.
  public struct Row: Sendable, Codable, Hashable {
    /// The type.
    public var type: TypeIdentity
    /// Objects of the generation that live.
    public var persistentCount: Int
    /// Bytes of the generation that are not freed.
    public var persistentBytes: ByteCount
    /// Objects of the generation that were destroyed.
    public var transientCount: Int
    /// Bytes of the generation that were freed.
    public var transientBytes: ByteCount
    /// Destroyed objects of the generation whose memory unowned references keep; part of `transientCount`.
    public var keptCount: Int
    /// Their bytes; part of `persistentBytes`.
    public var keptBytes: ByteCount

    /// Memberwise.
    public init(
      type: TypeIdentity, persistentCount: Int, persistentBytes: ByteCount, transientCount: Int = 0,
      transientBytes: ByteCount = .zero, keptCount: Int = 0, keptBytes: ByteCount = .zero
    ) {
      self.type = type
      self.keptCount = keptCount
      self.keptBytes = keptBytes
      self.persistentCount = persistentCount
      self.persistentBytes = persistentBytes
      self.transientCount = transientCount
      self.transientBytes = transientBytes
    }

    /// The same counts as in other reports.
    public var tally: Tally {
      Tally(
        persistentCount: persistentCount, persistentBytes: persistentBytes, transientCount: transientCount,
        transientBytes: transientBytes, keptCount: keptCount, keptBytes: keptBytes)
    }
  }

  /// One generation.
  public struct Growth: Sendable, Codable, Hashable {
    /// Its number, from 0.
    public var generation: Generation
    /// The name of the mark that closed it; its letters where the mark has no name.
    public var name: String
    /// When the mark was set. For the open generation: the end of the recording.
    public var time: TraceTime
    /// Bytes of its objects that are not freed.
    public var growthBytes: ByteCount
    /// Its objects that live.
    public var persistentCount: Int
    /// Its objects that were destroyed.
    public var transientCount: Int
    /// Bytes of its objects that were freed.
    public var transientBytes: ByteCount
    /// Its destroyed objects whose memory unowned references keep; part of `transientCount`.
    public var keptCount: Int
    /// Their bytes; part of `growthBytes`.
    public var keptBytes: ByteCount
    /// Its tokens, threads and regions, each by its kind: they are no memory of the heap and in no other sum here. Empty
    /// where there are none, and where nothing else was asked for: the sums are then of them.
    public var apart: [ObjectKind: Tally]
    /// Its objects that live, and its tokens and regions that do.
    public var survivors: Int {
      persistentCount &+ (apart[.token]?.persistentCount ?? 0) &+ (apart[.vm]?.persistentCount ?? 0)
    }
    /// By type, those that the lifespan filter leaves; largest persistent bytes first, then count, then transients, then
    /// name. The sums above are of all types.
    public var rows: [Row]

    /// Memberwise.
    public init(
      generation: Generation, name: String, time: TraceTime, growthBytes: ByteCount, persistentCount: Int,
      transientCount: Int = 0, transientBytes: ByteCount = .zero, keptCount: Int = 0, keptBytes: ByteCount = .zero,
      apart: [ObjectKind: Tally] = [:], rows: [Row]
    ) {
      self.keptCount = keptCount
      self.keptBytes = keptBytes
      self.apart = apart
      self.generation = generation
      self.name = name
      self.time = time
      self.growthBytes = growthBytes
      self.persistentCount = persistentCount
      self.transientCount = transientCount
      self.transientBytes = transientBytes
      self.rows = rows
    }
  }

  /// Whether a generation is looked at when its mark was set (`--at-mark`), or at the end of the recording.
  public var atMark: Bool
  /// The lifespan filter that chose the rows.
  public var lifespan: LifespanFilter
  /// The closed generations, oldest first.
  public var closed: [Growth]
  /// What was born after the last mark.
  public var open: Growth

  /// Memberwise.
  public init(atMark: Bool, lifespan: LifespanFilter = .living, closed: [Growth], open: Growth) {
    self.atMark = atMark
    self.lifespan = lifespan
    self.closed = closed
    self.open = open
  }
}
