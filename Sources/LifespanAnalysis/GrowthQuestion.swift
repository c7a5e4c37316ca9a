// What lived at each mark, by type: the question behind `growth`. Objects are followed once; a level is what was born by then less
// what had ended.
import LifespanTrace

/// Asks how the living of each type go from mark to mark.
public struct GrowthQuestion: Question, Sendable {
  /// Which types.
  public var types: TypeFilter
  /// So many marks at the beginning are a warm-up; nil: those whose names begin with "warm", else the first one where at least
  /// four rounds are left without it.
  public var warmUp: Int?
  /// The mark where the first round begins, instead of a warm-up.
  public var from: String?
  /// The mark that ends the last round; nil: the last one.
  public var to: String?

  /// Memberwise.
  public init(types: TypeFilter = TypeFilter(), warmUp: Int? = nil, from: String? = nil, to: String? = nil) {
    self.types = types
    self.warmUp = warmUp
    self.from = from
    self.to = to
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<GrowthTrends> {
    GrowthCollector(
      self, analysis, try analysis.catalog.selection(types), rounds: try RoundRange(self, analysis.timeline))
  }
}

/// Which marks bound the rounds that are looked at.
private struct RoundRange {
  /// The mark where the first round begins; −1: the start of the recording.
  var first: Int
  /// The mark that ends the last one; −1: there is none.
  var last: Int
  var warmUp: GrowthTrends.WarmUp

  init(_ question: GrowthQuestion, _ timeline: Timeline) throws(QuestionError) {
    let marks = timeline.marks
    last = try question.to.map { (name) throws(QuestionError) in try timeline.index(of: name) } ?? marks.count - 1
    if let name = question.from {
      // As for every stretch: of several with one name the last before its end.
      _ = try timeline.index(of: name)
      let before = last
      guard let index = marks.indices.last(where: { marks[$0].name == name && $0 < before }) else {
        throw .emptyWindow(.mark(name), .mark(question.to ?? marks.last?.name ?? ""))
      }
      (first, warmUp) = (index, .asked)
    } else if let count = question.warmUp {
      (first, warmUp) = (min(count, marks.count) - 1, count == 0 ? .none : .asked)
    } else {
      let named = marks.prefix { $0.name.lowercased().hasPrefix("warm") }.count
      let isFirst = named == 0 && last >= Trend.roundsNeeded
      first = isFirst ? 0 : named - 1
      warmUp = named > 0 ? .named : isFirst ? .first : .none
    }
  }
}

private final class GrowthCollector: Collector<GrowthTrends> {
  private let analysis: Analysis
  private let timeline: Timeline
  private let followed: [Bool]
  private let selected: [Bool]
  private let summed: [Bool]
  private let range: RoundRange
  private let marks: [Timeline.Cut]
  private let lives: LifeTracker
  // By the mark before which it happened: births and ends by row.
  private let changes = GenerationTallies()
  // By generation of birth, what is left at the end.
  private let left = GenerationTallies()

  init(_ question: GrowthQuestion, _ analysis: Analysis, _ selected: [Bool], rounds: RoundRange) {
    self.analysis = analysis
    self.selected = selected
    timeline = analysis.timeline
    range = rounds
    followed = analysis.catalog.followed(selected, analysis.trace)
    summed = analysis.catalog.summed(selected, question.types)
    marks = analysis.timeline.marks.indices.map { analysis.timeline.cut(mark: $0) }
    lives = LifeTracker(analysis.trace.sites)
    super.init(LifeTracker.columns.union([.times, .generations]))
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let kind = batch.kinds[index] & 0x3f
      if kind == KindSets.birth {
        let site = batch.sites[index]
        guard followed[Int(site)] else { continue }
        let generation = timeline.generation(file: batch.generations[index], time: batch.times[index])
        lives.follow(batch.objects[index], site: site, tag: generation)
        let counts = changes.of(generation, analysis.catalog.rowOfSite[Int(site)])
        counts.pointee.persistentCount &+= 1
        counts.pointee.persistentBytes &+= analysis.trace.sites[Int(site)].size.rawValue
      } else if kind == KindSets.moved {
        move(batch, index)
      } else if let life = lives.take(batch, index) {
        end(life, max(life.tag, position(batch, index)))
      }
    }
  }

  /// The first mark that an event lies before; as many as there are marks after the last.
  private func position(_ batch: EventBatch, _ index: Int) -> UInt32 {
    let event = batch.firstIndex &+ UInt64(index)
    let time = batch.times[index]
    return UInt32(truncatingIfNeeded: marks.partitionPoint { $0.isAfter(event: event, time: time) })
  }

  private func end(_ life: LifeEvent, _ position: UInt32) {
    let counts = changes.of(position, analysis.catalog.rowOfSite[life.site])
    counts.pointee.transientCount &+= life.ends ? 1 : 0
    counts.pointee.transientBytes &+= life.frees ? life.size.rawValue : 0
  }

  /// A block that gets another size, or turns out to be an object, goes over to another row.
  private func move(_ batch: EventBatch, _ index: Int) {
    guard let old = lives.life(batch.objects[index]) else { return }
    _ = lives.take(batch, index)
    guard let new = lives.life(batch.objects[index]) else { return }
    let position = max(old.tag, position(batch, index))
    end(old, position)
    let counts = changes.of(position, analysis.catalog.rowOfSite[new.site])
    counts.pointee.persistentCount &+= new.ends ? 1 : 0
    counts.pointee.persistentBytes &+= new.size.rawValue
  }

  /// The mark where the first round begins: not one at which nobody knows what lived.
  private func first(_ information: TraceInformation) -> (mark: Int, warmUp: GrowthTrends.WarmUp) {
    guard let discarded = information.discarded else { return (range.first, range.warmUp) }
    let known = information.marks.firstIndex { $0.time >= discarded.before } ?? information.marks.count
    return range.first < known ? (known, .discarded) : (range.first, range.warmUp)
  }

  override func answer(_ information: TraceInformation) -> GrowthTrends? {
    let (first, warmUp) = first(information)
    let rounds = first < range.last ? Array(first + 1...range.last) : []
    var levels = Levels(rows: analysis.catalog.rows.count, first: first, rounds: rounds.count)
    changes.forEach { levels.add($0.generation, $0.row, $0.tally, isSelected: selected[$0.row]) }
    lives.forEachLeft { life in
      guard life.ends else { return }
      left.of(life.tag, analysis.catalog.rowOfSite[life.site]).pointee.persistentCount &+= 1
    }
    left.forEach { levels.left($0.generation, $0.row, $0.persistentCount) }
    let (rows, total) = levels.rows(analysis.catalog.rows, summed: summed)
    let all = information.marks
    return GrowthTrends(
      warmUpMarks: all.prefix(min(first + 1, all.count)).map(\.name), warmUp: warmUp,
      firstMark: first < 0 || first >= all.count ? nil : first, lastMark: range.last < 0 ? nil : range.last,
      begin: first < 0 || first >= all.count ? .start : all[first].time,
      rounds: rounds.map { GrowthTrends.Round(name: all[$0].name, time: all[$0].time) },
      withheld: Self.withheld(rounds.count, marks: all.count, warmUp, information), rows: rows, total: total)
  }

  private static func withheld(
    _ rounds: Int, marks: Int, _ warmUp: GrowthTrends.WarmUp, _ information: TraceInformation
  ) -> String? {
    let needed = Trend.roundsNeeded
    guard rounds < needed else { return nil }
    if marks == 0 { return "no mark was set, and \(needed) rounds are needed: mark the end of each (lifespan mark)" }
    let after = warmUp == .none ? "" : warmUp == .discarded ? " after the discarded events" : " after the warm-up"
    return "not enough rounds: \(rounds == 0 ? "none" : String(rounds))\(after), \(needed) are needed"
  }
}

/// Levels by row, made of the changes between marks.
private struct Levels {
  private struct Row {
    var counts: [Int]
    var bytes: [Int64]
    var left: [Int]
  }

  private let first: Int
  private let rounds: Int
  private var known: [Row?]

  init(rows: Int, first: Int, rounds: Int) {
    self.first = first
    self.rounds = rounds
    known = Array(repeating: nil, count: rows)
  }

  /// What happened before the mark of that number counts for its level and all later ones.
  mutating func add(_ mark: UInt32, _ row: Int, _ change: Tally, isSelected: Bool) {
    let level = max(0, Int(mark) - first)
    guard isSelected, level <= rounds else { return }
    if known[row] == nil {
      known[row] = Row(
        counts: Array(repeating: 0, count: rounds + 1), bytes: Array(repeating: 0, count: rounds + 1),
        left: Array(repeating: 0, count: rounds))
    }
    known[row]?.counts[level] += change.persistentCount - change.transientCount
    known[row]?.bytes[level] += change.persistentBytes.rawValue - change.transientBytes.rawValue
  }

  mutating func left(_ generation: UInt32, _ row: Int, _ count: Int) {
    let round = Int(generation) - first - 1
    guard round >= 0, round < rounds else { return }
    known[row]?.left[round] += count
  }

  func rows(_ types: [TypeIdentity], summed: [Bool]) -> (rows: [GrowthTrends.Row], total: GrowthTrends.Row) {
    var rows: [GrowthTrends.Row] = []
    var sum = Row(
      counts: Array(repeating: 0, count: rounds + 1), bytes: Array(repeating: 0, count: rounds + 1),
      left: Array(repeating: 0, count: rounds))
    for (place, row) in known.enumerated() {
      guard let row else { continue }
      let counts = Levels.sums(row.counts)
      let bytes = Levels.sums(row.bytes)
      if summed[place] {
        for level in 0...rounds {
          sum.counts[level] += counts[level]
          sum.bytes[level] += bytes[level]
        }
        for round in 0..<rounds { sum.left[round] += row.left[round] }
      }
      guard counts.contains(where: { $0 != 0 }) || bytes.contains(where: { $0 != 0 }) else { continue }
      rows.append(
        GrowthTrends.Row(type: types[place], counts: counts, bytes: bytes, left: row.left, fromStart: first < 0))
    }
    rows.sort { Levels.key($0) < Levels.key($1) }
    let all = TypeIdentity(id: TypeID(0), name: "", rawName: "", kind: ObjectKind(0), module: "")
    let total = GrowthTrends.Row(
      type: all, counts: sum.counts, bytes: sum.bytes, left: sum.left, fromStart: first < 0)
    return (rows, total)
  }

  private static func sums<Number: AdditiveArithmetic>(_ changes: [Number]) -> [Number] {
    var level = Number.zero
    return changes.map { change in
      level += change
      return level
    }
  }

  private static func key(_ row: GrowthTrends.Row) -> (Int, Int64, Int64, String, UInt32) {
    let rank = row.verdict.flatMap { TrendVerdict.allCases.firstIndex(of: $0) } ?? 0
    let bytes = row.byBytes?.perRound ?? (row.bytes.last ?? 0) - (row.bytes.first ?? 0)
    let count = row.byCount?.perRound ?? Int64((row.counts.last ?? 0) - (row.counts.first ?? 0))
    return (rank, -bytes, -count, row.type.name, row.type.id.rawValue)
  }
}
