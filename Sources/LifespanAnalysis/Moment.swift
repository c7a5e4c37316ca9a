// A point in the recording, as --from, --to, --mark-at and diff name it. Resolved by Timeline.
import LifespanTrace

/// A point in the recording.
public enum Moment: Sendable, Codable, Hashable {
  /// Where the mark of that name was set; of several with one name the last (as the begin of a stretch with an
  /// end: the last before that). Unnamed marks go by their letters.
  case mark(String)
  /// So many nanoseconds after the start.
  case time(TraceTime)
  /// When most bytes lived, as PeakQuestion found it: exact, by the number of its event.
  case peak(Peak)
}

/// The stretch of the recording that a question looks at. Without limits: all of it.
public struct TimeWindow: Sendable, Codable, Hashable {
  /// Only objects born after it.
  public var from: Moment?
  /// What happens after it is not seen.
  public var to: Moment?
  /// The high-water mark at which it ends; nil where it ends elsewhere.
  public var peak: Peak? {
    if case .peak(let peak)? = to { return peak }
    return nil
  }
  /// The whole recording.
  public static let whole = TimeWindow()

  /// Memberwise.
  public init(from: Moment? = nil, to: Moment? = nil) {
    self.from = from
    self.to = to
  }
}

/// A mark set afterwards (`--mark-at TIME[:NAME]`): generations are split at that time as if it had been set.
public struct LaterMark: Sendable, Codable, Hashable {
  /// Where.
  public var time: TraceTime
  /// Empty: named by its letters.
  public var name: String

  /// Memberwise.
  public init(time: TraceTime, name: String = "") {
    self.time = time
    self.name = name
  }
}
