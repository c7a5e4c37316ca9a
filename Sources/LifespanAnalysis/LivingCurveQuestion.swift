// What lived, over time: the question behind the page's first chart. One value a living object, a fixed number of steps.
import LifespanTrace

/// Asks what lived over time. Objects that were discarded while recording are not in it: nobody knows when they lived.
public struct LivingCurveQuestion: Question, Sendable {
  /// Which types.
  public var types: TypeFilter
  /// Steps at most; there are at least half as many, where there are so many moments.
  public var steps: Int

  /// Memberwise.
  public init(types: TypeFilter = TypeFilter(), steps: Int = 1024) {
    self.types = types
    self.steps = max(2, steps)
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<LivingCurve> {
    let selected = try analysis.catalog.selection(types)
    return LivingCurveCollector(self, analysis, analysis.catalog.summed(selected, types))
  }
}

private final class LivingCurveCollector: Collector<LivingCurve> {
  private let analysis: Analysis
  private let most: Int
  // By site: whether it is summed, and its size.
  private let counts: [Bool]
  private let sizes: [Int64]
  // 0: not there; else site + 1, and the flag of kept memory.
  private let living = ObjectTable<UInt32>(empty: 0)
  @inline(__always) private static var kept: UInt32 { 1 << 31 }
  private var now = LivingCurve.Level()
  private var peak = LivingCurve.Level()
  private var peakTime = Int64.min
  private var steps: [LivingCurve.Step] = []
  // The place of each of `steps` on the time axis, in widths.
  private var places: [Int64] = []
  /// In ticks; doubled whenever the steps reach beyond `most`.
  private var width: Int64 = 1

  init(_ question: LivingCurveQuestion, _ analysis: Analysis, _ summed: [Bool]) {
    self.analysis = analysis
    most = question.steps
    counts = analysis.catalog.rowOfSite.map { summed[$0] }
    sizes = analysis.trace.sites.map(\.size.rawValue)
    super.init([.times, .moves])
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let kind = batch.kinds[index] & 0x3f
      if kind == KindSets.birth {
        let site = batch.sites[index]
        living.insert(batch.objects[index], site &+ 1)
        if counts[Int(site)] { change(1, sizes[Int(site)], at: batch.times[index]) }
      } else if KindSets.has(KindSets.changing, kind), let place = living.place(batch.objects[index]),
        place.pointee != 0
      {
        let state = place.pointee
        switch kind {
        case KindSets.moved: place.pointee = (state & Self.kept) | (batch.sites[index] &+ 1)
        case KindSets.deinitEnded: place.pointee = state | Self.kept
        default: living.remove(batch.objects[index])
        }
        changed(from: state, kind, batch, index)
      }
    }
  }

  private func changed(from state: UInt32, _ kind: UInt8, _ batch: EventBatch, _ index: Int) {
    let site = Int(state & ~Self.kept) &- 1
    let one = state & Self.kept == 0 ? 1 : 0
    let time = batch.times[index]
    if kind == KindSets.moved {
      let next = Int(batch.sites[index])
      let bytes = (counts[next] ? sizes[next] : 0) &- (counts[site] ? sizes[site] : 0)
      change(one &* ((counts[next] ? 1 : 0) &- (counts[site] ? 1 : 0)), bytes, at: time)
    } else if counts[site] {
      change(-one, kind == KindSets.deinitEnded ? 0 : -sizes[site], at: time)
    }
  }

  private func change(_ count: Int, _ bytes: Int64, at time: Int64) {
    now.count &+= count
    now.bytes += ByteCount(bytes)
    if now.bytes > peak.bytes {
      peak = now
      peakTime = time
    }
    // An event that comes late counts where the curve has come to: so the last step's end is the recording's.
    let place = max(max(0, time) / width, places.last ?? 0)
    if place == places.last {
      let last = steps.count - 1
      steps[last].most.count = max(steps[last].most.count, now.count)
      steps[last].most.bytes = max(steps[last].most.bytes, now.bytes)
      steps[last].last = now
      return
    }
    places.append(place)
    steps.append(LivingCurve.Step(time: .start, most: now, last: now))
    while let first = places.first, let last = places.last, last - first >= Int64(most) { widen() }
  }

  /// Steps of twice the width: pairs become one.
  private func widen() {
    width *= 2
    var merged: [LivingCurve.Step] = []
    var at: [Int64] = []
    for (place, step) in zip(places, steps) {
      if at.last == place / 2 {
        let last = merged.count - 1
        merged[last].most.count = max(merged[last].most.count, step.most.count)
        merged[last].most.bytes = max(merged[last].most.bytes, step.most.bytes)
        merged[last].last = step.last
      } else {
        at.append(place / 2)
        merged.append(step)
      }
    }
    places = at
    steps = merged
  }

  override func answer(_ information: TraceInformation) -> LivingCurve? {
    let header = analysis.trace.header
    for index in steps.indices { steps[index].time = header.time(Ticks(places[index] * width)) }
    let first = header.time(Ticks(0)).rawValue
    return LivingCurve(
      width: max(1, header.time(Ticks(width)).rawValue - first), steps: steps, peak: peak,
      peakTime: peakTime == .min ? .start : header.time(Ticks(peakTime)))
  }
}
