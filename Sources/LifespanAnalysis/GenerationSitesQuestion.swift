// What each stack allocated of each type in each generation: the question behind the page's drill-downs and flame graphs. Its
// sums are those of StatisticsQuestion, GenerationsQuestion and AllocationSitesQuestion.
import LifespanTrace

/// Counts by generation, type and stack.
public struct GenerationSites: Sendable, Codable, Equatable {
  /// What one stack allocated of one type in one generation.
  public struct Row: Sendable, Codable, Hashable {
    /// By number; the open one is the number of marks.
    public var generation: Generation
    /// The type.
    public var type: TypeIdentity
    /// The stack that allocated them.
    public var stack: StackID
    /// Their counts.
    public var tally: Tally

    /// Memberwise.
    public init(generation: Generation, type: TypeIdentity, stack: StackID, tally: Tally) {
      self.generation = generation
      self.type = type
      self.stack = stack
      self.tally = tally
    }
  }

  /// In the order of generations, types and stacks.
  public var rows: [Row]

  /// Memberwise.
  public init(rows: [Row]) { self.rows = rows }
}

/// Asks for counts by generation, type and stack, of the whole recording. Objects that were discarded while recording are not in
/// it: their stacks are not in the file.
public struct GenerationSitesQuestion: Question, Sendable {
  /// Which types.
  public var types: TypeFilter

  /// Memberwise.
  public init(types: TypeFilter = TypeFilter()) { self.types = types }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<GenerationSites> {
    GenerationSitesCollector(analysis, try analysis.catalog.selection(types))
  }
}

private final class GenerationSitesCollector: Collector<GenerationSites> {
  private struct Key: Hashable {
    let generation: UInt32
    let row: Int
    let stack: StackID
  }

  private let analysis: Analysis
  private let followed: [Bool]
  private let selected: [Bool]
  private let lives: LifeTracker
  // By generation and site.
  private let tallies = GenerationTallies()

  init(_ analysis: Analysis, _ selected: [Bool]) {
    self.analysis = analysis
    self.selected = selected
    followed = analysis.catalog.followed(selected, analysis.trace)
    lives = LifeTracker(analysis.trace.sites)
    super.init(LifeTracker.columns.union(analysis.timeline.columns))
  }

  override func take(_ batch: EventBatch) {
    let timeline = analysis.timeline
    let needsTime = columns.contains(.times)
    for index in 0..<batch.count {
      if batch.kinds[index] & 0x3f == KindSets.birth {
        let site = batch.sites[index]
        guard followed[Int(site)] else { continue }
        let generation = timeline.generation(
          file: batch.generations[index], time: needsTime ? batch.times[index] : 0)
        lives.follow(batch.objects[index], site: site, tag: generation)
      } else if let life = lives.take(batch, index) {
        let counts = tallies.of(life.tag, life.site)
        counts.pointee.transientCount &+= life.ends ? 1 : 0
        counts.pointee.transientBytes &+= life.frees ? life.size.rawValue : 0
        // Of an object whose memory went later the first half was counted as kept below.
        if life.ends != life.frees {
          counts.pointee.keptCount &+= life.ends ? 1 : -1
          counts.pointee.keptBytes &+= life.ends ? life.size.rawValue : -life.size.rawValue
        }
      }
    }
  }

  override func answer(_ information: TraceInformation) -> GenerationSites? {
    lives.forEachLeft { life in
      let counts = tallies.of(life.tag, life.site)
      counts.pointee.persistentCount &+= life.ends ? 1 : 0
      counts.pointee.persistentBytes &+= life.size.rawValue
    }
    var sums: [Key: Tally] = [:]
    tallies.forEach { counts in
      let row = analysis.catalog.rowOfSite[counts.row]
      guard selected[row], LifespanFilter.all.keeps(counts.tally) else { return }
      let stack = analysis.trace.sites[counts.row].stack
      sums[Key(generation: counts.generation, row: row, stack: stack), default: Tally()] += counts.tally
    }
    let order = sums.keys.sorted {
      ($0.generation, $0.row, $0.stack.rawValue) < ($1.generation, $1.row, $1.stack.rawValue)
    }
    return GenerationSites(
      rows: order.map {
        GenerationSites.Row(
          generation: Generation($0.generation), type: analysis.catalog.rows[$0.row], stack: $0.stack,
          tally: sums[$0] ?? Tally())
      })
  }
}
