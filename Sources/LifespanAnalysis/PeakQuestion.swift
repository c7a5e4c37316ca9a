// The moment at which most bytes of the heap lived: the question behind --at-peak. A pass of its own, before the question whose
// stretch ends there.
import LifespanTrace

/// When most bytes lived.
public struct Peak: Sendable, Codable, Hashable {
  /// So many events of the recording have happened by then: the exact place. Of several with as many bytes it is the first.
  public var events: UInt64
  /// When that was.
  public var time: TraceTime
  /// Objects of the heap that lived then.
  public var livingCount: Int
  /// Their bytes, with those that unowned references kept.
  public var livingBytes: ByteCount

  /// Memberwise.
  public init(events: UInt64, time: TraceTime, livingCount: Int, livingBytes: ByteCount) {
    self.events = events
    self.time = time
    self.livingCount = livingCount
    self.livingBytes = livingBytes
  }
}

/// Asks for the high-water mark of the heap: of everything recorded but tokens, threads and regions. Memory: 4 bytes for what
/// lives.
public struct PeakQuestion: Question, Sendable {
  /// Looks from there on; nil: from the start.
  public var from: Moment?

  /// Memberwise.
  public init(from: Moment? = nil) { self.from = from }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Peak> {
    PeakCollector(
      analysis,
      try from.map { moment throws(QuestionError) in
        try analysis.timeline.cut(moment, analysis.trace.header)
      })
  }
}

private final class PeakCollector: Collector<Peak> {
  private let analysis: Analysis
  private let from: Timeline.Cut?
  // By site; -1: no memory of the heap.
  private let sizes: [Int64]
  // Site + 1 and the flag of kept memory; 0: nothing.
  private let living = ObjectTable<UInt32>(empty: 0)
  private static let kept: UInt32 = 1 << 31
  private var isReached: Bool
  private var count = 0
  private var bytes: Int64 = 0
  private var best: (events: UInt64, ticks: Int64, count: Int, bytes: Int64) = (0, 0, 0, 0)

  init(_ analysis: Analysis, _ from: Timeline.Cut?) {
    self.analysis = analysis
    self.from = from
    isReached = from == nil
    let catalog = analysis.catalog
    sizes = analysis.trace.sites.enumerated().map { index, site in
      catalog.rows[catalog.rowOfSite[index]].kind.isOnHeap ? site.size.rawValue : -1
    }
    super.init([.moves, .times, .generations])
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let kind = batch.kinds[index] & 0x3f
      if !isReached, let from, isBehind(from, batch, index) {
        isReached = true
        note(batch.firstIndex &+ UInt64(index), batch.times[index])
      }
      if kind == KindSets.birth {
        born(batch, index)
      } else if KindSets.has(KindSets.changing, kind) {
        change(batch, index, kind)
      }
    }
  }

  private func isBehind(_ from: Timeline.Cut, _ batch: EventBatch, _ index: Int) -> Bool {
    !from.isAfter(event: batch.firstIndex &+ UInt64(index), time: batch.times[index])
  }

  private func born(_ batch: EventBatch, _ index: Int) {
    let site = batch.sites[index]
    living.insert(batch.objects[index], site &+ 1)
    let size = sizes[Int(site)]
    guard size >= 0 else { return }
    count &+= 1
    bytes &+= size
    rise(batch, index)
  }

  private func change(_ batch: EventBatch, _ index: Int, _ kind: UInt8) {
    let object = batch.objects[index]
    guard let place = living.place(object), place.pointee != 0 else { return }
    let isKept = place.pointee & Self.kept != 0
    let size = sizes[Int(place.pointee & ~Self.kept) &- 1]
    if kind == KindSets.moved {
      let site = batch.sites[index]
      place.pointee = (place.pointee & Self.kept) | (site &+ 1)
      let now = sizes[Int(site)]
      bytes &+= max(now, 0) &- max(size, 0)
      if !isKept { count &+= (now >= 0 ? 1 : 0) &- (size >= 0 ? 1 : 0) }
      rise(batch, index)
      return
    }
    if !isKept, size >= 0 { count &-= 1 }
    if kind == KindSets.deinitEnded {
      place.pointee |= Self.kept
      return
    }
    bytes &-= max(size, 0)
    living.remove(object)
  }

  @inline(__always)
  private func rise(_ batch: EventBatch, _ index: Int) {
    if bytes > best.bytes, isReached { note(batch.firstIndex &+ UInt64(index) &+ 1, batch.times[index]) }
  }

  private func note(_ events: UInt64, _ ticks: Int64) { best = (events, ticks, count, bytes) }

  override func answer(_ information: TraceInformation) -> Peak? {
    // Where the stretch begins at the end of the recording or behind it, nothing is higher than the end.
    guard isReached else {
      return Peak(
        events: .max, time: information.end, livingCount: count, livingBytes: ByteCount(bytes))
    }
    return Peak(
      events: best.events, time: analysis.trace.header.time(Ticks(best.ticks)), livingCount: best.count,
      livingBytes: ByteCount(best.bytes))
  }
}
