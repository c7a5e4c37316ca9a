// The answer of AllocationSitesQuestion: what each stack allocated, by type. Rendered as a call tree and in other programs' formats.
import LifespanTrace

/// Counts by type and stack.
public struct AllocationSites: Sendable, Codable, Equatable {
  /// What one stack allocated of one type.
  public struct Row: Sendable, Codable, Hashable {
    /// The type.
    public var type: TypeIdentity
    /// The stack that allocated them.
    public var stack: StackID
    /// Their counts.
    public var tally: Tally

    /// Memberwise.
    public init(type: TypeIdentity, stack: StackID, tally: Tally) {
      self.type = type
      self.stack = stack
      self.tally = tally
    }
  }

  /// Which objects the rows are about.
  public var lifespan: LifespanFilter
  /// The stretch looked at.
  public var window: TimeWindow
  /// In the order of types, then stacks; only those that the lifespan filter leaves. Tokens, threads and regions, which are no
  /// memory of the heap, only where nothing else was asked for.
  public var rows: [Row]
  /// Objects whose stacks are not in the file: they died and were discarded while recording. In no row.
  public var withoutStack: Tally

  /// Memberwise.
  public init(lifespan: LifespanFilter, window: TimeWindow = .whole, rows: [Row], withoutStack: Tally = Tally()) {
    self.lifespan = lifespan
    self.window = window
    self.rows = rows
    self.withoutStack = withoutStack
  }
}

extension Tally {
  /// How many objects, and their bytes, a lifespan filter means.
  public func weight(of lifespan: LifespanFilter) -> (count: Int, bytes: Int64) {
    switch lifespan {
    case .living: (persistentCount, persistentBytes.rawValue)
    case .destroyed: (transientCount, transientBytes.rawValue)
    case .all: (totalCount, totalBytes.rawValue)
    }
  }
}

/// Asks for counts by type and stack. Costs what StatisticsQuestion does.
public struct AllocationSitesQuestion: Question, Sendable {
  /// Which objects.
  public var lifespan: LifespanFilter
  /// Which types.
  public var types: TypeFilter
  /// Which stretch.
  public var window: TimeWindow

  /// Memberwise.
  public init(
    lifespan: LifespanFilter = .living, types: TypeFilter = TypeFilter(), window: TimeWindow = .whole
  ) {
    self.lifespan = lifespan
    self.types = types
    self.window = window
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<AllocationSites> {
    let question = StatisticsQuestion(lifespan: lifespan, types: types, window: window)
    let counter = StatisticsCollector(
      question, analysis, try Window(window, analysis), try analysis.catalog.selection(types))
    return AllocationSitesCollector(self, analysis, counter)
  }
}

private final class AllocationSitesCollector: Collector<AllocationSites> {
  private struct Key: Hashable {
    let row: Int
    let stack: StackID
  }

  private let question: AllocationSitesQuestion
  private let analysis: Analysis
  private let counter: StatisticsCollector

  init(_ question: AllocationSitesQuestion, _ analysis: Analysis, _ counter: StatisticsCollector) {
    self.question = question
    self.analysis = analysis
    self.counter = counter
    super.init(counter.columns)
  }

  override func take(_ batch: EventBatch) { counter.take(batch) }

  override func answer(_ information: TraceInformation) -> AllocationSites? {
    // Objects of one type and several sizes come from several sites with the same stack.
    var tallies: [Key: Tally] = [:]
    let catalog = analysis.catalog
    guard let chosen = try? catalog.selection(question.types) else { return nil }
    let summed = catalog.summed(chosen, question.types)
    for (site, row, tally) in counter.chosenSites() where summed[row] {
      tallies[Key(row: row, stack: site.stack), default: Tally()] += tally
    }
    let lifespan = question.lifespan
    let kept = tallies.filter { $0.value.weight(of: lifespan) != (0, 0) }
    let order = kept.keys.sorted { ($0.row, $0.stack.rawValue) < ($1.row, $1.stack.rawValue) }
    let rows = order.map {
      AllocationSites.Row(type: catalog.rows[$0.row], stack: $0.stack, tally: kept[$0] ?? Tally())
    }
    return AllocationSites(
      lifespan: lifespan, window: question.window, rows: rows, withoutStack: discarded(summed))
  }

  /// What is known of by its counts alone.
  private func discarded(_ summed: [Bool]) -> Tally {
    var sum = Tally()
    guard question.window == .whole else { return sum }
    for total in analysis.trace.totals {
      guard let row = analysis.catalog.row(total.type), summed[row] else { continue }
      sum.transientCount &+= Int(clamping: total.births)
      sum.transientBytes += ByteCount(Int64(clamping: total.bytes))
    }
    return sum
  }
}
