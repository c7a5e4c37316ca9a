// The stretch of time that a question looks at, resolved: which births belong to it and which events it still sees.
// Used by the collectors.
import LifespanTrace

/// A resolved TimeWindow.
struct Window {
  private let from: Timeline.Cut?
  private let to: Timeline.Cut?
  private let timeline: Timeline

  init(_ window: TimeWindow, _ analysis: Analysis) throws(QuestionError) {
    timeline = analysis.timeline
    let header = analysis.trace.header
    if let first = window.from, let second = window.to {
      let cuts = try timeline.cuts(first, second, header)
      from = cuts.from
      to = cuts.to
    } else {
      if let moment = window.from { from = try timeline.cut(moment, header) } else { from = nil }
      if let moment = window.to { to = try timeline.cut(moment, header) } else { to = nil }
    }
  }

  /// Which of its ends has a name that several marks have.
  var ambiguities: [AmbiguousMark] { [from, to].compactMap { $0 }.compactMap(timeline.ambiguity) }

  /// The whole recording: nothing has to be looked at.
  var isWhole: Bool { from == nil && to == nil }

  /// The columns that the tests below need.
  var columns: EventColumns { isWhole ? [] : [.times, .generations] }

  /// When it ends, where it has an end of its own.
  var end: Ticks? { to.map { Ticks($0.time) } }

  /// Whether a birth belongs to it; `index` is the event's in its batch.
  @inline(__always)
  func holdsBirth(_ batch: EventBatch, _ index: Int) -> Bool {
    if isWhole { return true }
    let time = batch.times[index]
    let generation = timeline.generation(file: batch.generations[index], time: time)
    if let from, from.isAfterBirth(generation: generation, time: time) { return false }
    if let to, !isBorn(batch, index, before: to, generation) { return false }
    return true
  }

  @inline(__always)
  private func isBorn(_ batch: EventBatch, _ index: Int, before to: Timeline.Cut, _ generation: UInt32) -> Bool {
    if let exactly = to.exactly { return batch.firstIndex &+ UInt64(index) < exactly }
    return to.isAfterBirth(generation: generation, time: batch.times[index])
  }

  /// Whether an event lies within it: what a list of events shows. `sees` is wider: what happened before it has been.
  func shows(_ batch: EventBatch, _ index: Int) -> Bool {
    if batch.kind(index) == .birth { return holdsBirth(batch, index) }
    guard sees(batch, index) else { return false }
    return !(from?.isAfter(event: batch.firstIndex &+ UInt64(index), time: batch.times[index]) ?? false)
  }

  /// Whether an object is born before its end.
  func isBorn(_ batch: EventBatch, _ index: Int) -> Bool {
    guard let to else { return true }
    let generation = timeline.generation(file: batch.generations[index], time: batch.times[index])
    return isBorn(batch, index, before: to, generation)
  }

  /// Whether another event is still seen.
  @inline(__always)
  func sees(_ batch: EventBatch, _ index: Int) -> Bool {
    guard let to else { return true }
    return to.isAfter(event: batch.firstIndex &+ UInt64(index), time: batch.times[index])
  }
}
