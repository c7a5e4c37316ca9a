// The survivors of one round: the question behind `growth --round`, and behind what `growth` shows of types that grow.
import LifespanTrace

/// Asks what lived before a stretch of the recording, what was born inside and is left, and what lived after it.
public struct RoundTripQuestion: Question, Sendable {
  /// Where a stretch begins or ends.
  public enum Edge: Sendable, Hashable {
    /// As it is named.
    case moment(Moment)
    /// The mark of that number, from 0: of several with one name.
    case mark(Int)
    /// The start of the recording.
    case start
  }

  /// Where the round begins.
  public var from: Edge
  /// Where it ends.
  public var to: Edge
  /// Which types.
  public var types: TypeFilter
  /// Rows of these types alone; nil: of all that the filter leaves.
  public var only: Set<TypeIdentity>?

  /// Memberwise.
  public init(from: Edge, to: Edge, types: TypeFilter = TypeFilter(), only: Set<TypeIdentity>? = nil) {
    self.from = from
    self.to = to
    self.types = types
    self.only = only
  }

  /// How many examples each stack has, at most.
  public static let examplesKept = 8

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<RoundTrip> {
    let timeline = analysis.timeline
    let header = analysis.trace.header
    let from: Timeline.Cut?
    let to: Timeline.Cut
    if case .moment(let first) = self.from, case .moment(let second) = self.to {
      let cuts = try timeline.cuts(first, second, header)
      from = cuts.from
      to = cuts.to
    } else {
      from = try RoundTripQuestion.cut(self.from, timeline, header)
      if let end = try RoundTripQuestion.cut(self.to, timeline, header) {
        to = end
      } else {
        to = try timeline.cut(.time(.start), header)
      }
    }
    var selected = try analysis.catalog.selection(types)
    if let only {
      for row in selected.indices where !only.contains(analysis.catalog.rows[row]) { selected[row] = false }
    }
    return RoundTripCollector(analysis, from: from, to: to, selected, types)
  }

  private static func cut(
    _ edge: Edge, _ timeline: Timeline, _ header: TraceHeader
  ) throws(QuestionError) -> Timeline.Cut? {
    switch edge {
    case .start: nil
    case .mark(let number): timeline.cut(mark: number)
    case .moment(let moment): try timeline.cut(moment, header)
    }
  }
}

private final class RoundTripCollector: Collector<RoundTrip> {
  /// An object that is followed; `state` 0 is nothing.
  private struct Life: BitwiseCopyable {
    var site: UInt32
    var stack: UInt32
    var serial: UInt64
    var state: UInt8
  }

  private enum State {
    static let none: UInt8 = 0
    /// Born before the round.
    static let old: UInt8 = 1
    /// Born inside.
    static let new: UInt8 = 2
  }

  private struct Key: Hashable {
    var row: Int
    var stack: UInt32
  }

  private let analysis: Analysis
  /// Nil: the start.
  private let from: Timeline.Cut?
  private let to: Timeline.Cut
  private let followed: [Bool]
  private let selected: [Bool]
  private let summed: [Bool]
  private let living = ObjectTable<Life>(empty: Life(site: 0, stack: 0, serial: 0, state: State.none))
  private var totals: [RoundTrip.Total]
  private var sites: [Key: RoundTrip.Site] = [:]

  init(
    _ analysis: Analysis, from: Timeline.Cut?, to: Timeline.Cut, _ selected: [Bool], _ types: TypeFilter
  ) {
    self.analysis = analysis
    self.from = from
    self.to = to
    self.selected = selected
    followed = analysis.catalog.followed(selected, analysis.trace)
    summed = analysis.catalog.summed(selected, types)
    totals = Array(repeating: RoundTrip.Total(), count: analysis.catalog.rows.count)
    super.init([.times, .generations, .stacks, .serials, .moves])
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let kind = batch.kinds[index] & 0x3f
      if kind == KindSets.birth {
        birth(batch, index)
      } else if KindSets.has(KindSets.changing, kind) {
        change(batch, index, kind)
      }
    }
  }

  private func birth(_ batch: EventBatch, _ index: Int) {
    let site = batch.sites[index]
    guard followed[Int(site)] else { return }
    let time = batch.times[index]
    let generation = analysis.timeline.generation(file: batch.generations[index], time: time)
    guard to.isAfterBirth(generation: generation, time: time) else { return }
    let isOld = from?.isAfterBirth(generation: generation, time: time) ?? false
    living.insert(
      batch.objects[index],
      Life(
        site: site, stack: batch.stacks[index], serial: batch.serials[index], state: isOld ? State.old : State.new))
  }

  private func change(_ batch: EventBatch, _ index: Int, _ kind: UInt8) {
    let object = batch.objects[index]
    guard let place = living.place(object), place.pointee.state != State.none else { return }
    let event = batch.firstIndex &+ UInt64(index)
    let time = batch.times[index]
    if kind == KindSets.moved {
      // What it becomes after the round is none of the round's affair.
      guard to.isAfter(event: event, time: time) else { return }
      let site = batch.sites[index]
      place.pointee.site = site
      place.pointee.stack = analysis.trace.sites[Int(site)].stack.rawValue
      return
    }
    let life = place.pointee
    // With its deinit an object has ended, whatever keeps its memory.
    if kind == KindSets.deinitEnded { place.pointee.state = State.none } else { living.remove(object) }
    if !to.isAfter(event: event, time: time) {
      count(life, isLiving: false)
    } else if life.state == State.old, !(from?.isAfter(event: event, time: time) ?? false) {
      before(life)
    }
  }

  private func size(_ life: Life) -> ByteCount { analysis.trace.sites[Int(life.site)].size }

  private func before(_ life: Life) {
    let row = analysis.catalog.rowOfSite[Int(life.site)]
    totals[row].before &+= 1
    totals[row].beforeBytes += size(life)
  }

  /// It lived when the round was over.
  private func count(_ life: Life, isLiving: Bool) {
    let row = analysis.catalog.rowOfSite[Int(life.site)]
    totals[row].after &+= 1
    guard life.state == State.new else { return before(life) }
    let size = size(life)
    totals[row].inside &+= 1
    totals[row].insideBytes += size
    totals[row].living &+= isLiving ? 1 : 0
    guard selected[row] else { return }
    sites[
      Key(row: row, stack: life.stack),
      default: RoundTrip.Site(stack: StackID(life.stack), count: 0, bytes: .zero, living: 0, examples: [])
    ].add(SerialNumber(life.serial), size, isLiving: isLiving)
  }

  override func answer(_ information: TraceInformation) -> RoundTrip? {
    // In the order of births: of those that live the newest are kept as examples, before those that died late.
    living.drain { _, life in if life.state != State.none { count(life, isLiving: true) } }
    var ofRow: [Int: [RoundTrip.Site]] = [:]
    for (key, site) in sites { ofRow[key.row, default: []].append(site) }
    var rows: [RoundTrip.Row] = []
    var total = RoundTrip.Total()
    var apart: [ObjectKind: RoundTrip.Total] = [:]
    for (row, counts) in totals.enumerated() where selected[row] {
      let type = analysis.catalog.rows[row]
      if summed[row] { total += counts } else { apart[type.kind, default: RoundTrip.Total()] += counts }
      guard counts.inside > 0 else { continue }
      let ordered = (ofRow[row] ?? []).sorted { ($1.bytes, $1.count, $0.stack) < ($0.bytes, $0.count, $1.stack) }
      rows.append(
        RoundTrip.Row(
          type: type, before: counts.before, inside: counts.inside, insideBytes: counts.insideBytes,
          after: counts.after, living: counts.living, sites: ordered.map { $0.newestFirst }))
    }
    rows.sort { one, other in
      let left = (other.insideBytes, other.inside, one.type.name, one.type.id)
      let right = (one.insideBytes, one.inside, other.type.name, other.type.id)
      return left < right
    }
    return RoundTrip(rows: rows, total: total, apart: apart.filter { $0.value != RoundTrip.Total() })
  }
}

extension RoundTrip.Site {
  fileprivate mutating func add(_ serial: SerialNumber, _ size: ByteCount, isLiving: Bool) {
    // Those that died late were counted before, in the order of their deaths; the first that lives takes their place.
    if isLiving, living == 0 { examples = [] }
    count &+= 1
    bytes += size
    living &+= isLiving ? 1 : 0
    if examples.count == RoundTripQuestion.examplesKept { examples.removeFirst() }
    examples.append(serial)
  }

  fileprivate var newestFirst: RoundTrip.Site {
    var site = self
    site.examples.sort(by: >)
    return site
  }
}

extension RoundTrip.Total {
  fileprivate static func += (left: inout RoundTrip.Total, right: RoundTrip.Total) {
    left.before &+= right.before
    left.beforeBytes += right.beforeBytes
    left.inside &+= right.inside
    left.insideBytes += right.insideBytes
    left.after &+= right.after
    left.living &+= right.living
  }
}
