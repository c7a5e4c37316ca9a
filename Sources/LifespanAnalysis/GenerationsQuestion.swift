// Growth and # persistent per generation: the question behind `generations`.
import LifespanTrace

/// Asks what is left of each generation's objects.
public struct GenerationsQuestion: Question, Sendable {
  /// Which types.
  public var types: TypeFilter
  /// Only objects born in it, looked at its end.
  public var window: TimeWindow
  /// Look at each generation when its mark was set, not at the end.
  public var atMark: Bool
  /// Which rows.
  public var lifespan: LifespanFilter

  /// Memberwise.
  public init(
    types: TypeFilter = TypeFilter(), window: TimeWindow = .whole, atMark: Bool = false,
    lifespan: LifespanFilter = .living
  ) {
    self.lifespan = lifespan
    self.types = types
    self.window = window
    self.atMark = atMark
  }

  /// Whether objects that were discarded while recording are in the answer: not by marks that were set afterwards, as their
  /// generation is all that is known of them.
  public static func countsDiscarded(window: TimeWindow, atMark: Bool, _ timeline: Timeline) -> Bool {
    window == .whole && !atMark && !timeline.hasLaterMarks
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Generations> {
    GenerationsCollector(
      self, analysis, try Window(window, analysis), try analysis.catalog.selection(types))
  }
}

private final class GenerationsCollector: Collector<Generations> {
  private let analysis: Analysis
  private let window: Window
  private let timeline: Timeline
  private let followed: [Bool]
  private let selected: [Bool]
  // The row of each site; −1 where it is not selected.
  private let rows: [Int32]
  private let question: GenerationsQuestion
  private let marks: [Timeline.Cut]
  private let lives: LifeTracker
  private let sumsAll: Bool
  private let tallies = GenerationTallies()

  init(_ question: GenerationsQuestion, _ analysis: Analysis, _ window: Window, _ selected: [Bool]) {
    self.question = question
    self.analysis = analysis
    self.window = window
    timeline = analysis.timeline
    followed = analysis.catalog.followed(selected, analysis.trace)
    self.selected = selected
    rows = analysis.catalog.rowOfSite.map { selected[$0] ? Int32(truncatingIfNeeded: $0) : -1 }
    marks = analysis.timeline.marks.indices.map { analysis.timeline.cut(mark: $0) }
    lives = LifeTracker(analysis.trace.sites)
    sumsAll = analysis.catalog.isOfNoHeap(selected, question.types)
    var columns = LifeTracker.columns.union(window.columns).union(analysis.timeline.columns)
    if question.atMark { columns.insert(.times) }
    super.init(columns)
  }

  override func take(_ batch: EventBatch) {
    let needsTime = columns.contains(.times)
    let isWhole = window.isWhole
    let atMark = question.atMark
    // Births of a stretch are of one generation.
    var file = batch.count > 0 ? batch.generations[0] : 0
    var generation = timeline.generation(file: file, time: needsTime && batch.count > 0 ? batch.times[0] : 0)
    followed.withUnsafeBufferPointer { followed in
      var index = 0
      while index < batch.count {
        if batch.kinds[index] & 0x3f == KindSets.birth {
          let site = batch.sites[index]
          if followed[Int(site)], isWhole || window.holdsBirth(batch, index) {
            if needsTime || batch.generations[index] != file {
              file = batch.generations[index]
              generation = timeline.generation(file: file, time: needsTime ? batch.times[index] : 0)
            }
            lives.follow(batch.objects[index], site: site, tag: generation)
          }
        } else if isWhole || window.sees(batch, index), let life = lives.take(batch, index) {
          if atMark, livedAtItsMark(life, batch.firstIndex &+ UInt64(index), batch.times[index]) {
            persistent(life)
          } else {
            transient(life)
          }
        }
        index &+= 1
      }
    }
  }

  /// An object that ended after its generation's mark was living when that was set.
  private func livedAtItsMark(_ life: LifeEvent, _ event: UInt64, _ time: Int64) -> Bool {
    Int(life.tag) < marks.count && !marks[Int(life.tag)].isAfter(event: event, time: time)
  }

  /// What is kept is what has memory and does not live; an object that ends before its memory goes, both of it later, comes
  /// here twice and is in the end not kept.
  private func persistent(_ life: LifeEvent) {
    let row = rows[life.site]
    guard row >= 0 else { return }
    let kept = (life.frees ? 1 : 0) - (life.ends ? 1 : 0)
    let counts = tallies.of(life.tag, Int(row))
    counts.pointee.persistentCount &+= life.ends ? 1 : 0
    counts.pointee.persistentBytes &+= life.frees ? life.size.rawValue : 0
    counts.pointee.keptCount &+= kept
    counts.pointee.keptBytes &+= Int64(kept) &* life.size.rawValue
  }

  @inline(__always)
  private func transient(_ life: LifeEvent) {
    let row = rows[life.site]
    guard row >= 0 else { return }
    let counts = tallies.of(life.tag, Int(row))
    counts.pointee.transientCount &+= life.ends ? 1 : 0
    counts.pointee.transientBytes &+= life.frees ? life.size.rawValue : 0
  }

  /// Objects that died and whose events were discarded, by the generations of the file. Nobody knows when they died: they
  /// count where only the end matters.
  private func addDiscarded() {
    guard GenerationsQuestion.countsDiscarded(window: question.window, atMark: question.atMark, timeline) else {
      return
    }
    for total in analysis.trace.totals {
      guard let row = analysis.catalog.row(total.type), selected[row] else { continue }
      let counts = tallies.of(timeline.generation(file: total.generation.rawValue, time: 0), row)
      counts.pointee.transientCount &+= Int(clamping: total.births)
      counts.pointee.transientBytes &+= Int64(clamping: total.bytes)
    }
  }

  override func answer(_ information: TraceInformation) -> Generations? {
    lives.forEachLeft { persistent($0) }
    addDiscarded()
    var rows: [UInt32: [Generations.Row]] = [:]
    tallies.forEach { counts in
      let tally = counts.tally
      guard LifespanFilter.all.keeps(tally) else { return }
      rows[counts.generation, default: []].append(
        Generations.Row(
          type: analysis.catalog.rows[counts.row], persistentCount: tally.persistentCount,
          persistentBytes: tally.persistentBytes, transientCount: tally.transientCount,
          transientBytes: tally.transientBytes, keptCount: tally.keptCount, keptBytes: tally.keptBytes))
    }
    let header = analysis.trace.header
    let closed = analysis.timeline.marks.enumerated().map { index, mark in
      growth(UInt32(index), mark.name, header.time(mark.time), rows[UInt32(index)] ?? [])
    }
    let last = UInt32(closed.count)
    let end = window.end.map { header.time($0) } ?? information.end
    let open = growth(last, analysis.timeline.openName, end, rows[last] ?? [])
    return Generations(atMark: question.atMark, lifespan: question.lifespan, closed: closed, open: open)
  }

  private func growth(
    _ number: UInt32, _ name: String, _ time: TraceTime, _ rows: [Generations.Row]
  ) -> Generations.Growth {
    let sorted = rows.filter { question.lifespan.keeps($0.tally) }.sorted { one, other in
      if (one.persistentBytes, one.persistentCount) != (other.persistentBytes, other.persistentCount) {
        return (one.persistentBytes, one.persistentCount) > (other.persistentBytes, other.persistentCount)
      }
      let left = (other.transientBytes, other.transientCount, one.type.name, one.type.id)
      let right = (one.transientBytes, one.transientCount, other.type.name, other.type.id)
      return left < right
    }
    var sum = Tally()
    var apart: [ObjectKind: Tally] = [:]
    for row in rows {
      if sumsAll || row.type.kind.isOnHeap {
        sum += row.tally
      } else {
        apart[row.type.kind, default: Tally()] += row.tally
      }
    }
    return Generations.Growth(
      generation: Generation(number), name: name, time: time, growthBytes: sum.persistentBytes,
      persistentCount: sum.persistentCount, transientCount: sum.transientCount, transientBytes: sum.transientBytes,
      keptCount: sum.keptCount, keptBytes: sum.keptBytes, apart: apart, rows: sorted)
  }
}
