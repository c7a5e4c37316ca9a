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

    /// Memberwise.
    public init(type: TypeIdentity, persistentCount: Int, persistentBytes: ByteCount) {
      self.type = type
      self.persistentCount = persistentCount
      self.persistentBytes = persistentBytes
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
    /// By type, types without living objects or bytes left out; largest bytes first, then count, then name.
    public var rows: [Row]

    /// Memberwise.
    public init(
      generation: Generation, name: String, time: TraceTime, growthBytes: ByteCount, persistentCount: Int, rows: [Row]
    ) {
      self.generation = generation
      self.name = name
      self.time = time
      self.growthBytes = growthBytes
      self.persistentCount = persistentCount
      self.rows = rows
    }
  }

  /// Whether a generation is looked at when its mark was set (`--at-mark`), or at the end of the recording.
  public var atMark: Bool
  /// The closed generations, oldest first.
  public var closed: [Growth]
  /// What was born after the last mark.
  public var open: Growth

  /// Memberwise.
  public init(atMark: Bool, closed: [Growth], open: Growth) {
    self.atMark = atMark
    self.closed = closed
    self.open = open
  }
}
