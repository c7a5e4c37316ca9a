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
    /// The thread that made them, the generation in which they were made, the size of each: where the question asked for it.
    public var thread: ThreadID?
    /// See `thread`.
    public var generation: Generation?
    /// See `thread`.
    public var size: ByteCount?
    /// Their counts.
    public var tally: Tally

    /// Memberwise.
    public init(
      type: TypeIdentity, stack: StackID, thread: ThreadID? = nil, generation: Generation? = nil,
      size: ByteCount? = nil, tally: Tally
    ) {
      self.type = type
      self.stack = stack
      self.thread = thread
      self.generation = generation
      self.size = size
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
  /// The same by type; in the order of types.
  public var discarded: [Statistics.Row]

  /// Memberwise.
  public init(
    lifespan: LifespanFilter, window: TimeWindow = .whole, rows: [Row], withoutStack: Tally = Tally(),
    discarded: [Statistics.Row] = []
  ) {
    self.lifespan = lifespan
    self.window = window
    self.rows = rows
    self.withoutStack = withoutStack
    self.discarded = discarded
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
  /// By what rows are kept apart besides.
  public var split: SiteSplit
  /// Whether temporary objects are counted, as in StatisticsQuestion.
  public var countsTemporary: Bool
  /// Whether lifetimes are kept, as in StatisticsQuestion.
  public var countsLifetimes: Bool

  /// Memberwise.
  public init(
    lifespan: LifespanFilter = .living, types: TypeFilter = TypeFilter(), window: TimeWindow = .whole,
    split: SiteSplit = [], countsTemporary: Bool = false, countsLifetimes: Bool = false
  ) {
    self.lifespan = lifespan
    self.types = types
    self.window = window
    self.split = split
    self.countsTemporary = countsTemporary
    self.countsLifetimes = countsLifetimes
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<AllocationSites> {
    let question = StatisticsQuestion(
      lifespan: lifespan, types: types, window: window, countsTemporary: countsTemporary,
      countsLifetimes: countsLifetimes)
    let counter = StatisticsCollector(
      question, analysis, try Window(window, analysis), try analysis.catalog.selection(types), split: split)
    return AllocationSitesCollector(self, analysis, counter)
  }
}

private final class AllocationSitesCollector: Collector<AllocationSites> {
  private struct Key: Hashable, Comparable {
    let row: Int
    let stack: StackID
    let thread: ThreadID?
    let generation: Generation?
    let size: ByteCount?

    static func < (one: Key, other: Key) -> Bool {
      let left = (one.row, one.stack.rawValue, one.thread?.rawValue ?? 0, one.generation?.rawValue ?? 0)
      let right = (other.row, other.stack.rawValue, other.thread?.rawValue ?? 0, other.generation?.rawValue ?? 0)
      return left == right ? (one.size?.rawValue ?? 0) < (other.size?.rawValue ?? 0) : left < right
    }
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
    for chosen in counter.chosenSites() where summed[chosen.row] {
      let key = Key(
        row: chosen.row, stack: chosen.site.stack, thread: chosen.thread, generation: chosen.generation,
        size: question.split.contains(.sizes) ? chosen.site.size : nil)
      tallies[key, default: Tally()] += chosen.tally
    }
    let lifespan = question.lifespan
    let kept = tallies.filter { $0.value.weight(of: lifespan) != (0, 0) }
    let rows = kept.keys.sorted().map {
      AllocationSites.Row(
        type: catalog.rows[$0.row], stack: $0.stack, thread: $0.thread, generation: $0.generation, size: $0.size,
        tally: kept[$0] ?? Tally())
    }
    let discarded = discarded(summed)
    return AllocationSites(
      lifespan: lifespan, window: question.window, rows: rows,
      withoutStack: discarded.reduce(into: Tally()) { $0 += $1.tally }, discarded: discarded)
  }

  /// What is known of by its counts alone.
  private func discarded(_ summed: [Bool]) -> [Statistics.Row] {
    guard question.window == .whole else { return [] }
    var sums: [Int: Tally] = [:]
    for total in analysis.trace.totals {
      guard let row = analysis.catalog.row(total.type), summed[row] else { continue }
      sums[row, default: Tally()] += Tally(
        transientCount: Int(clamping: total.births), transientBytes: ByteCount(Int64(clamping: total.bytes)))
    }
    return sums.sorted { $0.key < $1.key }.map { Statistics.Row(type: analysis.catalog.rows[$0.key], tally: $0.value) }
  }
}
