// The answer of LivingCurveQuestion: what lived, over time. Drawn by the page.
import LifespanTrace

/// How many objects of the heap lived over time, and their bytes.
public struct LivingCurve: Sendable, Codable, Equatable {
  /// What lived.
  public struct Level: Sendable, Codable, Hashable {
    /// Objects that were not deinitialised.
    public var count: Int
    /// Bytes that were not freed.
    public var bytes: ByteCount

    /// Memberwise.
    public init(count: Int = 0, bytes: ByteCount = .zero) {
      self.count = count
      self.bytes = bytes
    }
  }

  /// A stretch of the recording in which something changed.
  public struct Step: Sendable, Codable, Hashable {
    /// Where it begins.
    public var time: TraceTime
    /// The most that lived within it, by each number for itself.
    public var most: Level
    /// What lived at its end.
    public var last: Level

    /// Memberwise.
    public init(time: TraceTime, most: Level, last: Level) {
      self.time = time
      self.most = most
      self.last = last
    }
  }

  /// How long a step is, in nanoseconds.
  public var width: Int64
  /// In order. What is not there had no events: the step before goes on.
  public var steps: [Step]
  /// What lived when the most bytes did: the high-water mark, to the event.
  public var peak: Level
  /// When that was.
  public var peakTime: TraceTime
  /// What lived at the end: what `stats` calls persistent.
  public var end: Level { steps.last?.last ?? Level() }

  /// Memberwise.
  public init(width: Int64, steps: [Step], peak: Level, peakTime: TraceTime) {
    self.width = width
    self.steps = steps
    self.peak = peak
    self.peakTime = peakTime
  }
}
