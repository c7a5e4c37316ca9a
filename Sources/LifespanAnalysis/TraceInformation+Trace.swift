// Makes the trace information out of a trace's tables and of what a pass has counted. Used by Analysis.
import LifespanTrace

/// What a pass over the events has counted besides the answers.
struct Holes {
  /// Time of the last event, where the trace has no end of its own.
  private(set) var newest: Ticks?
  /// Deaths of objects without birth.
  private(set) var unknownDeaths: UInt64 = 0
  /// Ends that were not seen.
  private(set) var endsNotSeen: UInt64 = 0

  /// Counts a batch. A pass has hundreds of millions of events, and almost none of these: most batches say that at once.
  mutating func take(_ batch: EventBatch, withTimes: Bool) {
    if batch.holds(.endNotSeen) {
      for index in 0..<batch.count where batch.kind(index) == .endNotSeen { endsNotSeen &+= 1 }
    }
    if batch.holdsUnknown { countDeaths(batch) }
    guard withTimes else { return }
    var latest = newest?.rawValue ?? .min
    for index in 0..<batch.count { latest = max(latest, batch.times[index]) }
    if latest != .min { newest = Ticks(latest) }
  }

  private mutating func countDeaths(_ batch: EventBatch) {
    for index in 0..<batch.count where batch.objects[index] < 0 {
      let kind = batch.kind(index)
      if kind == .death || kind == .deinitEnded || kind == .plainFree { unknownDeaths &+= 1 }
    }
  }
}

extension TraceInformation {
  init(_ trace: Trace, _ timeline: Timeline, events: UInt64, births: UInt64, holes: Holes, asOf: TraceTime?) {
    self.init()
    info = trace.info
    program = info["program"] ?? ""
    arguments = info["arguments"] ?? ""
    startedAt = info["started_at"] ?? ""
    recorder = info["recorder"] ?? ""
    host = info["host"] ?? ""
    options = info["options"] ?? ""
    unwind = info["unwind"] ?? ""
    pid = trace.header.pid
    parentPID = trace.header.parentPID
    door = [1: .preload, 2: .linked][trace.header.door] ?? .unknown
    let begun: Capture = [1: .complete, 2: .partial, 3: .countsOnly][trace.header.capture] ?? .none
    capture = info["capture"].flatMap { Capture(rawValue: $0) } ?? begun
    captureReason = info["capture.reason"] ?? ""
    eventsRecorded = events
    birthsRecorded = births
    unknownDeaths = holes.unknownDeaths
    endsNotSeenByEvents = holes.endsNotSeen
    ending = trace.ending
    counters = trace.end ?? [:]
    endedByItself = counters["clean"].map { $0 != 0 }
    exitStatus = counters["exit_status"].map { Int(clamping: $0) }
    takeDiscarded(trace)
    olderEventsDropped = info["history.dropped"].flatMap { UInt64($0) } ?? 0
    wasPaused = trace.recording.contains { !$0.goesOn }
    let perSecond = trace.header.ticksPerSecond
    timeStep = Int64(clamping: (UInt64(trace.header.ticksPerUnit) &* 1_000_000_000 &+ perSecond &- 1) / perSecond)
    marks = timeline.marks.enumerated().map { index, mark in
      Mark(generation: Generation(UInt32(index)), name: mark.name, time: trace.header.time(mark.time))
    }
    takeGaps(trace)
    let last = counters["end"].map { Ticks(Int64(clamping: $0)) } ?? Self.latest(trace, holes.newest)
    end = max(trace.header.time(last), asOf ?? .start)
  }

  private mutating func takeDiscarded(_ trace: Trace) {
    guard let by = info["discarded.by"], let before = info["discarded.before"].flatMap({ Int64($0) }) else { return }
    let options = ["keep living": "--keep living", "max size": "--max-size"]
    let events = info["discarded.events"].flatMap { UInt64($0) } ?? 0
    let objects = trace.totals.reduce(0) { $0 &+ $1.births }
    discarded = Discarded(
      by: options[by] ?? by, before: trace.header.time(Ticks(before)), objects: objects, events: events)
    eventsRecorded &+= events
    birthsRecorded &+= objects
  }

  private mutating func takeGaps(_ trace: Trace) {
    let reasons: [UInt64: Gap.Reason] = [
      1: .ringFull, 2: .noRing, 3: .suppressed, 4: .recorderDied, 5: .damagedRecord, 6: .sizeLimit,
    ]
    for row in trace.gaps {
      let hole = Lost(births: row.births, deaths: row.deaths, others: row.others)
      gaps.append(
        Gap(
          thread: row.thread, from: trace.header.time(row.from), to: trace.header.time(row.to), lost: hole,
          reason: reasons[row.reason] ?? .other))
      lost.births &+= hole.births
      lost.deaths &+= hole.deaths
      lost.others &+= hole.others
    }
    if let counted = counters["lost"], counted > lost.total { lost.others &+= counted - lost.total }
  }

  private static func latest(_ trace: Trace, _ newest: Ticks?) -> Ticks {
    let marks = trace.marks.map(\.time).max()
    return [newest, marks, Ticks(0)].compactMap { $0 }.max() ?? Ticks(0)
  }
}
