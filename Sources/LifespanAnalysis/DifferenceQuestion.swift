// New, dead and survived between two moments: the question behind `diff`.
import LifespanTrace

/// Asks what changed between two moments.
public struct DifferenceQuestion: Question, Sendable {
  /// The first moment.
  public var from: Moment
  /// The second.
  public var to: Moment
  /// Which types.
  public var types: TypeFilter

  /// Memberwise.
  public init(from: Moment, to: Moment, types: TypeFilter = TypeFilter()) {
    self.from = from
    self.to = to
    self.types = types
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Difference> {
    let cuts = try analysis.timeline.cuts(from, to, analysis.trace.header)
    return DifferenceCollector(self, analysis, from: cuts.from, to: cuts.to, try analysis.catalog.selection(types))
  }
}

private final class DifferenceCollector: Collector<Difference> {
  private static let before: UInt32 = 0
  private static let between: UInt32 = 1
  private let question: DifferenceQuestion
  private let analysis: Analysis
  private let from: Timeline.Cut
  private let to: Timeline.Cut
  private let followed: [Bool]
  private let selected: [Bool]
  private let summed: [Bool]
  private let lives: LifeTracker
  private var changes: [Difference.Change]

  init(
    _ question: DifferenceQuestion, _ analysis: Analysis, from: Timeline.Cut, to: Timeline.Cut, _ selected: [Bool]
  ) {
    self.question = question
    self.analysis = analysis
    self.from = from
    self.to = to
    followed = analysis.catalog.followed(selected, analysis.trace)
    self.selected = selected
    summed = analysis.catalog.summed(selected, question.types)
    lives = LifeTracker(analysis.trace.sites)
    changes = Array(repeating: Difference.Change(), count: analysis.catalog.rows.count)
    super.init(LifeTracker.columns.union([.times, .generations]))
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let time = batch.times[index]
      if batch.kind(index) == .birth {
        let site = batch.sites[index]
        guard followed[Int(site)] else { continue }
        let generation = analysis.timeline.generation(file: batch.generations[index], time: time)
        guard to.isAfterBirth(generation: generation, time: time) else { continue }
        let isBefore = from.isAfterBirth(generation: generation, time: time)
        lives.follow(batch.objects[index], site: site, tag: isBefore ? Self.before : Self.between)
        continue
      }
      let event = batch.firstIndex &+ UInt64(index)
      guard to.isAfter(event: event, time: time), let life = lives.take(batch, index) else { continue }
      if life.tag == Self.between {
        changes[row(life)].transient += amount(life)
      } else if !from.isAfter(event: event, time: time) {
        changes[row(life)].dead += amount(life)
      }
    }
  }

  private func row(_ life: LifeEvent) -> Int { analysis.catalog.rowOfSite[life.site] }

  private func amount(_ life: LifeEvent) -> Difference.Amount {
    Difference.Amount(count: life.ends ? 1 : 0, bytes: life.frees ? life.size : .zero)
  }

  override func answer(_ information: TraceInformation) -> Difference? {
    lives.forEachLeft { life in
      if life.tag == Self.between {
        changes[row(life)].new += amount(life)
      } else {
        changes[row(life)].survived += amount(life)
      }
    }
    var rows: [Difference.Row] = []
    var total = Difference.Change()
    var apart: [ObjectKind: Difference.Change] = [:]
    for (row, change) in changes.enumerated() where selected[row] && change != Difference.Change() {
      let type = analysis.catalog.rows[row]
      if summed[row] {
        total += change
      } else {
        apart[type.kind, default: Difference.Change()] += change
      }
      rows.append(Difference.Row(type: type, change: change))
    }
    rows.sort { one, other in
      let left = (other.change.net, one.type.name, one.type.id)
      let right = (one.change.net, other.type.name, other.type.id)
      return left < right
    }
    return Difference(from: question.from, to: question.to, rows: rows, total: total, apart: apart)
  }
}

extension Difference.Change {
  /// Bytes that came minus bytes that went.
  fileprivate var net: ByteCount { new.bytes - dead.bytes }
}
