// Names that several marks have: which mark was meant. Said by every report that was asked about one.
import LifespanTrace

/// A name that several marks have, and the one of them that a question took.
public struct AmbiguousMark: Sendable, Codable, Hashable {
  /// The name.
  public var name: String
  /// How many marks have it.
  public var count: Int
  /// When the one that was taken was set, since the start.
  public var time: TraceTime

  /// Memberwise.
  public init(name: String, count: Int, time: TraceTime) {
    self.name = name
    self.count = count
    self.time = time
  }
}

extension Analysis {
  /// The ends of a window, and the mark of a generation, whose names several marks have.
  public func ambiguousMarks(in window: TimeWindow, generation: String? = nil) throws(QuestionError) -> [AmbiguousMark]
  {
    var found = try Window(window, self).ambiguities
    if let generation, let index = timeline.marks.lastIndex(where: { $0.name == generation }),
      let mark = timeline.ambiguity(timeline.cut(mark: index)), !found.contains(mark)
    {
      found.append(mark)
    }
    return found
  }
}
