// Counts births and ends by site: the work behind StatisticsQuestion and AllocationSitesQuestion.
import LifespanTrace

/// Counts of one slot: a birth site, or what is kept apart of it.
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
  private var counts: UnsafeMutablePointer<SiteCounts>
  private var room: Int
  // Nil: a slot is a site.
  private var slots: SiteSlots?
  private let split: SiteSplit
  // 0: not there; else slot + 1, and the two flags.
  private let living = ObjectTable<UInt32>(empty: 0)
  @inline(__always) private static var kept: UInt32 { 1 << 31 }
  @inline(__always) private static var newestOfThread: UInt32 { 1 << 30 }
  @inline(__always) private static var siteMask: UInt32 { 1 << 30 - 1 }
  private var newest: [UInt32: Int] = [:]
  private var unknownDeaths = 0
  private let references: ReferenceCounts?
  // When what lives was born, and by slot how long lived what does not. Where they are asked for.
  private let born: ObjectTable<Int64>?
  private var lifetimes: [Lifetimes] = []

  init(
    _ question: StatisticsQuestion, _ analysis: Analysis, _ window: Window, _ selected: [Bool], split: SiteSplit = []
  ) {
    self.question = question
    self.analysis = analysis
    self.window = window
    self.selected = selected
    self.split = split
    room = analysis.trace.sites.count
    counts = .allocate(capacity: room)
    counts.initialize(repeating: SiteCounts(), count: room)
    slots = split.isDisjoint(with: [.threads, .generations]) ? nil : SiteSlots(sites: room)
    born = question.countsLifetimes ? ObjectTable(empty: Int64.min) : nil
    var columns = window.columns.union(.moves)
    if question.countsTemporary || split.contains(.threads) { columns.insert(.threads) }
    if split.contains(.generations) { columns.formUnion(analysis.timeline.columns) }
    if born != nil { columns.insert(.times) }
    references = question.countsReferences ? ReferenceCounts(analysis) : nil
    if references != nil { columns.insert(.amounts) }
    super.init(columns)
  }

  deinit { counts.deallocate() }

  override func take(_ batch: EventBatch) {
    if window.isWhole && !question.countsTemporary && references == nil && slots == nil && born == nil {
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
    if question.countsTemporary {
      let thread = batch.threads[index]
      if let before = newest[thread], let place = living.place(before) { place.pointee &= ~Self.newestOfThread }
      newest[thread] = object
    }
    guard window.holdsBirth(batch, index) else { return }
    let slot = slots == nil ? site : slot(batch, index, site)
    counts[Int(slot)].births &+= 1
    living.insert(object, (slot &+ 1) | (question.countsTemporary ? Self.newestOfThread : 0))
    born?.insert(object, batch.times[index])
    references?.born(object, site: Int(site))
  }

  private func slot(_ batch: EventBatch, _ index: Int, _ site: UInt32) -> UInt32 {
    var key = SiteSlots.Key(site: site, thread: 0, generation: 0)
    if split.contains(.threads) { key.thread = batch.threads[index] }
    if split.contains(.generations) {
      let time = analysis.timeline.hasLaterMarks ? batch.times[index] : 0
      key.generation = analysis.timeline.generation(file: batch.generations[index], time: time)
    }
    return madeRoom(slots?.number(key) ?? site)
  }

  private func madeRoom(_ slot: UInt32) -> UInt32 {
    guard Int(slot) >= room else { return slot }
    let larger = UnsafeMutablePointer<SiteCounts>.allocate(capacity: room * 2 + 1)
    larger.moveInitialize(from: counts, count: room)
    (larger + room).initialize(repeating: SiteCounts(), count: room + 1)
    counts.deallocate()
    counts = larger
    room = room * 2 + 1
    return slot
  }

  private func siteOf(_ slot: Int) -> Int { slots.map { Int($0.keys[slot].site) } ?? slot }

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
      let now = Int(slots == nil ? batch.sites[index] : madeRoom(slots?.number(site, movedTo: batch.sites[index]) ?? 0))
      let isKept = state & Self.kept != 0
      counts[site].births &-= 1
      counts[now].births &+= 1
      if isKept {
        counts[site].ended &-= 1
        counts[now].ended &+= 1
      }
      place.pointee = (state & ~Self.siteMask) | UInt32(truncatingIfNeeded: now &+ 1)
      references?.moved(object, site: Int(batch.sites[index]))
      return
    }
    if state & Self.kept == 0 {
      counts[site].ended &+= 1
      references?.ended(object)
      if state & Self.newestOfThread != 0 { counts[site].temporary &+= 1 }
      if born != nil, kind != .endNotSeen { lived(object, site, until: batch.times[index]) }
    }
    guard frees else {
      place.pointee = (state | Self.kept) & ~Self.newestOfThread
      return
    }
    counts[site].freed &+= 1
    living.remove(object)
    born?.remove(object)
  }

  private func lived(_ object: Int, _ slot: Int, until end: Int64) {
    guard let begin = born?.place(object)?.pointee, begin != .min else { return }
    let header = analysis.trace.header
    if slot >= lifetimes.count {
      lifetimes += [Lifetimes](repeating: Lifetimes(), count: max(room, slot + 1) - lifetimes.count)
    }
    lifetimes[slot].add(header.time(Ticks(end)).rawValue &- header.time(Ticks(begin)).rawValue)
  }

  /// Slots in which something may have been counted.
  private var used: Range<Int> { 0..<(slots?.keys.count ?? analysis.trace.sites.count) }

  override func answer(_ information: TraceInformation) -> Statistics? {
    var tallies = [Tally](repeating: Tally(), count: analysis.catalog.rows.count)
    for slot in used { tallies[analysis.catalog.rowOfSite[siteOf(slot)]] += tally(slot) }
    references?.add(to: &tallies)
    if window.isWhole { addDiscarded(to: &tallies) }
    return statistics(tallies)
  }

  /// What was counted at one site, or of one thread and generation there.
  struct ChosenSite {
    let site: SiteRecord
    let row: Int
    let thread: ThreadID?
    let generation: Generation?
    let tally: Tally
  }

  /// Of the types that the question chose, every site at which something was born, with its counts. Without what was discarded
  /// before it reached the file.
  func chosenSites() -> [ChosenSite] {
    used.compactMap { slot in
      let site = siteOf(slot)
      let row = analysis.catalog.rowOfSite[site]
      guard selected[row], counts[slot].births > 0 else { return nil }
      let key = slots?.keys[slot]
      return ChosenSite(
        site: analysis.trace.sites[site], row: row,
        thread: split.contains(.threads) ? key.map { ThreadID($0.thread) } : nil,
        generation: split.contains(.generations) ? key.map { Generation($0.generation) } : nil, tally: tally(slot))
    }
  }

  private func tally(_ slot: Int) -> Tally {
    let count = counts[slot]
    let size = analysis.trace.sites[siteOf(slot)].size.rawValue
    func bytes(_ objects: Int) -> ByteCount { ByteCount(Int64(objects) &* size) }
    var tally = Tally(
      persistentCount: count.births &- count.ended,
      persistentBytes: bytes(count.births &- count.freed), transientCount: count.ended,
      transientBytes: bytes(count.freed), keptCount: count.ended &- count.freed,
      keptBytes: bytes(count.ended &- count.freed),
      temporaryCount: question.countsTemporary ? count.temporary : nil)
    if question.countsLifetimes { tally.lifetimes = slot < lifetimes.count ? lifetimes[slot] : Lifetimes() }
    return tally
  }

  private func addDiscarded(to tallies: inout [Tally]) {
    for total in analysis.trace.totals {
      guard let row = analysis.catalog.row(total.type) else { continue }
      tallies[row].transientCount &+= Int(clamping: total.births)
      tallies[row].transientBytes += ByteCount(Int64(clamping: total.bytes))
      // How many of these were temporary, and how long they lived, is not known.
      tallies[row].temporaryCount = nil
      tallies[row].lifetimes = nil
    }
  }

  private func statistics(_ tallies: [Tally]) -> Statistics {
    var rows: [Statistics.Row] = []
    let known = tallies.contains { $0.retains != nil }
    var total = Tally(
      temporaryCount: question.countsTemporary ? 0 : nil, retains: known ? 0 : nil, releases: known ? 0 : nil,
      references: known ? 0 : nil, lifetimes: question.countsLifetimes ? Lifetimes() : nil)
    var kinds: [ObjectKind: Tally] = [:]
    let summed = analysis.catalog.summed(selected, question.types)
    for (row, tally) in tallies.enumerated() where selected[row] && LifespanFilter.all.keeps(tally) {
      let type = analysis.catalog.rows[row]
      if summed[row] { total += tally }
      kinds[type.kind, default: Tally()] += tally
      if question.lifespan.keeps(tally) { rows.append(Statistics.Row(type: type, tally: tally)) }
    }
    // Some of them are not known in a part of the rows: then not in the sums either.
    let counted = tallies.indices.filter { selected[$0] && LifespanFilter.all.keeps(tallies[$0]) }
    if counted.contains(where: { tallies[$0].temporaryCount == nil }) {
      total.temporaryCount = nil
      for kind in kinds.keys { kinds[kind]?.temporaryCount = nil }
    }
    if counted.contains(where: { tallies[$0].lifetimes == nil }) {
      total.lifetimes = nil
      for kind in kinds.keys { kinds[kind]?.lifetimes = nil }
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
