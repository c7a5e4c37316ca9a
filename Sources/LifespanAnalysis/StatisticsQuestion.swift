// Counts by type: the question behind `stats`. One counter a site; types are summed up at the end.
import LifespanTrace

/// Asks for counts by type.
public struct StatisticsQuestion: Question, Sendable {
  /// Which rows.
  public var lifespan: LifespanFilter
  /// Which types.
  public var types: TypeFilter
  /// Which stretch. What was discarded before it reached the file (TOTALS) counts only in the whole recording.
  public var window: TimeWindow
  /// Whether temporary objects are counted, which costs a little.
  public var countsTemporary: Bool
  /// Whether retains and releases are counted, which costs as much as there are of them.
  public var countsReferences: Bool
  /// Whether lifetimes are kept: 8 bytes more for each living object, and some for each site.
  public var countsLifetimes: Bool

  /// Memberwise.
  public init(
    lifespan: LifespanFilter = .living, types: TypeFilter = TypeFilter(), window: TimeWindow = .whole,
    countsTemporary: Bool = false, countsReferences: Bool = false, countsLifetimes: Bool = false
  ) {
    self.lifespan = lifespan
    self.types = types
    self.window = window
    self.countsTemporary = countsTemporary
    self.countsReferences = countsReferences
    self.countsLifetimes = countsLifetimes
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Statistics> {
    StatisticsCollector(self, analysis, try Window(window, analysis), try analysis.catalog.selection(types))
  }
}
