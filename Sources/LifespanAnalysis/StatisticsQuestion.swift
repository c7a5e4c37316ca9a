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

  /// Memberwise.
  public init(
    lifespan: LifespanFilter = .living, types: TypeFilter = TypeFilter(), window: TimeWindow = .whole,
    countsTemporary: Bool = false, countsReferences: Bool = false
  ) {
    self.lifespan = lifespan
    self.types = types
    self.window = window
    self.countsTemporary = countsTemporary
    self.countsReferences = countsReferences
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Statistics> {
    StatisticsCollector(self, analysis, try Window(window, analysis), try analysis.catalog.selection(types))
  }
}

/// Counts of one birth site.
private struct SiteCounts {
  var births = 0
  var ended = 0
  var freed = 0
  var temporary = 0
}

final class StatisticsCollector: Collector<Statistics> {
  private let question: StatisticsQuestion
  private let analysis: Analysis
  private let window: Window
  private let selected: [Bool]
  private let counts: UnsafeMutablePointer<SiteCounts>
  private let siteCount: Int
  // 0: not there; else site + 1, and the two flags.
  private let living = ObjectTable<UInt32>(empty: 0)
  @inline(__always) private static var kept: UInt32 { 1 << 31 }
  @inline(__always) private static var newestOfThread: UInt32 { 1 << 30 }
  @inline(__always) private static var siteMask: UInt32 { 1 << 30 - 1 }
  private var newest: [UInt32: Int] = [:]
  private var unknownDeaths = 0
  private let references: ReferenceCounts?

  init(_ question: StatisticsQuestion, _ analysis: Analysis, _ window: Window, _ selected: [Bool]) {
    self.question = question
    self.analysis = analysis
    self.window = window
    self.selected = selected
    siteCount = analysis.trace.sites.count
    counts = .allocate(capacity: siteCount)
    counts.initialize(repeating: SiteCounts(), count: siteCount)
    var columns = window.columns.union(.moves)
    if question.countsTemporary { columns.insert(.threads) }
    references = question.countsReferences ? ReferenceCounts(analysis) : nil
    if references != nil { columns.insert(.amounts) }
    super.init(columns)
  }

  deinit { counts.deallocate() }

  override func take(_ batch: EventBatch) {
    if window.isWhole && !question.countsTemporary && references == nil {
      takeSimple(batch)
      return
    }
    for index in 0..<batch.count {
      let kind = batch.kinds[index] & 0x3f
      if kind == KindSets.birth {
        birth(batch, index, batch.objects[index], batch.sites[index])
      } else if window.sees(batch, index) {
        other(batch, index, batch.objects[index], EventKind(kind))
      }
    }
  }

  /// Where nothing but births and ends counts, wherever they lie: what `stats` is asked almost always.
  private func takeSimple(_ batch: EventBatch) {
    let counts = self.counts
    let living = self.living
    let kinds = batch.kinds
    let objects = batch.objects
    let sites = batch.sites
    let count = batch.count
    var young = living.young
    var index = 0
    while index < count {
      let kind = kinds[index] & 0x3f
      let object = objects[index]
      if kind == KindSets.birth {
        let site = sites[index]
        counts[Int(site)].births &+= 1
        if young.holds(object) {
          young.place(object).pointee = site &+ 1
        } else {
          living.insert(object, site &+ 1)
          young = living.young
        }
      } else if young.holds(object), KindSets.has(KindSets.freeing, kind),
        young.place(object).pointee & Self.kept == 0
      {
        let place = young.place(object)
        let site = Int(place.pointee) &- 1
        place.pointee = 0
        if site >= 0 {
          counts[site].ended &+= 1
          counts[site].freed &+= 1
        }
      } else {
        other(batch, index, object, EventKind(kind))
      }
      index &+= 1
    }
  }

  private func birth(_ batch: EventBatch, _ index: Int, _ object: Int, _ site: UInt32) {
    var state = site &+ 1
    if question.countsTemporary {
      let thread = batch.threads[index]
      if let before = newest[thread], let place = living.place(before) { place.pointee &= ~Self.newestOfThread }
      newest[thread] = object
      state |= Self.newestOfThread
    }
    guard window.holdsBirth(batch, index) else { return }
    counts[Int(site)].births &+= 1
    living.insert(object, state)
    references?.born(object, site: Int(site))
  }

  private func other(_ batch: EventBatch, _ index: Int, _ object: Int, _ kind: EventKind) {
    let frees = KindSets.has(KindSets.freeing, kind.rawValue)
    guard frees || kind == .deinitEnded || kind == .moved else {
      if kind == .retain || kind == .release { references?.changed(object, kind, batch.amounts[index]) }
      return
    }
    guard let place = living.place(object), place.pointee & Self.siteMask != 0 else {
      if object < 0, kind == .death || kind == .deinitEnded || kind == .plainFree { unknownDeaths += 1 }
      return
    }
    let state = place.pointee
    let site = Int(state & Self.siteMask) &- 1
    if kind == .moved {
      // It leaves its old site as if it had never been there: total stays living + destroyed.
      let now = Int(batch.sites[index])
      let isKept = state & Self.kept != 0
      counts[site].births &-= 1
      counts[now].births &+= 1
      if isKept {
        counts[site].ended &-= 1
        counts[now].ended &+= 1
      }
      place.pointee = (state & ~Self.siteMask) | (batch.sites[index] &+ 1)
      references?.moved(object, site: now)
      return
    }
    if state & Self.kept == 0 {
      counts[site].ended &+= 1
      references?.ended(object)
      if state & Self.newestOfThread != 0 { counts[site].temporary &+= 1 }
    }
    guard frees else {
      place.pointee = (state | Self.kept) & ~Self.newestOfThread
      return
    }
    counts[site].freed &+= 1
    living.remove(object)
  }

  override func answer(_ information: TraceInformation) -> Statistics? {
    var tallies = [Tally](repeating: Tally(), count: analysis.catalog.rows.count)
    for site in 0..<siteCount { tallies[analysis.catalog.rowOfSite[site]] += tally(site) }
    references?.add(to: &tallies)
    if window.isWhole { addDiscarded(to: &tallies) }
    return statistics(tallies)
  }

  /// Of the types that the question chose, every site at which something was born, with its counts. Without what was discarded
  /// before it reached the file.
  func chosenSites() -> [(site: SiteRecord, row: Int, tally: Tally)] {
    (0..<siteCount).compactMap { site in
      let row = analysis.catalog.rowOfSite[site]
      guard selected[row], counts[site].births > 0 else { return nil }
      return (analysis.trace.sites[site], row, tally(site))
    }
  }

  private func tally(_ site: Int) -> Tally {
    let count = counts[site]
    let size = analysis.trace.sites[site].size.rawValue
    func bytes(_ objects: Int) -> ByteCount { ByteCount(Int64(objects) &* size) }
    return Tally(
      persistentCount: count.births &- count.ended,
      persistentBytes: bytes(count.births &- count.freed), transientCount: count.ended,
      transientBytes: bytes(count.freed), keptCount: count.ended &- count.freed,
      keptBytes: bytes(count.ended &- count.freed),
      temporaryCount: question.countsTemporary ? count.temporary : nil)
  }

  private func addDiscarded(to tallies: inout [Tally]) {
    for total in analysis.trace.totals {
      guard let row = analysis.catalog.row(total.type) else { continue }
      tallies[row].transientCount &+= Int(clamping: total.births)
      tallies[row].transientBytes += ByteCount(Int64(clamping: total.bytes))
      // How many of these were temporary is not known.
      tallies[row].temporaryCount = nil
    }
  }

  private func statistics(_ tallies: [Tally]) -> Statistics {
    var rows: [Statistics.Row] = []
    let known = tallies.contains { $0.retains != nil }
    var total = Tally(
      temporaryCount: question.countsTemporary ? 0 : nil, retains: known ? 0 : nil, releases: known ? 0 : nil,
      references: known ? 0 : nil)
    var kinds: [ObjectKind: Tally] = [:]
    let summed = analysis.catalog.summed(selected, question.types)
    for (row, tally) in tallies.enumerated() where selected[row] && LifespanFilter.all.keeps(tally) {
      let type = analysis.catalog.rows[row]
      if summed[row] { total += tally }
      kinds[type.kind, default: Tally()] += tally
      if question.lifespan.keeps(tally) { rows.append(Statistics.Row(type: type, tally: tally)) }
    }
    if tallies.contains(where: { $0.temporaryCount == nil }) {
      total.temporaryCount = nil
      for kind in kinds.keys { kinds[kind]?.temporaryCount = nil }
    }
    if tallies.contains(where: { $0.retains != nil && $0.references == nil }) {
      total.references = nil
      for kind in kinds.keys { kinds[kind]?.references = nil }
    }
    rows.sort { one, other in
      let left = (other.tally.persistentBytes, other.tally.totalBytes, one.type.name, one.type.id)
      let right = (one.tally.persistentBytes, one.tally.totalBytes, other.type.name, other.type.id)
      return left < right
    }
    let byKind = kinds.sorted { $0.key < $1.key }.map { Statistics.KindTotal(kind: $0.key, tally: $0.value) }
    return Statistics(
      lifespan: question.lifespan, window: question.window, rows: rows, total: total, totalsByKind: byKind,
      unknownDeaths: unknownDeaths)
  }
}
