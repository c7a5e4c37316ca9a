// The threads of a recording: the question behind `threads`. Their rows come from the tables, what they did from the events.
import LifespanTrace

/// Asks for the threads.
public struct ThreadsQuestion: Question, Sendable {
  /// Which of them.
  public var lifespan: LifespanFilter

  /// Memberwise, all by default.
  public init(lifespan: LifespanFilter = .all) { self.lifespan = lifespan }

  /// See `Question`.
  public func collector(_ analysis: Analysis) -> Collector<ThreadList> { ThreadsCollector(self, analysis.trace) }
}

private final class ThreadsCollector: Collector<ThreadList> {
  private struct Work {
    var events = 0
    var last = Int64.min
  }

  private let question: ThreadsQuestion
  private let trace: Trace
  private var works: [UInt32: Work] = [:]

  init(_ question: ThreadsQuestion, _ trace: Trace) {
    self.question = question
    self.trace = trace
    super.init([.threads, .times])
  }

  override func take(_ batch: EventBatch) {
    var thread: UInt32 = 0
    var work = Work()
    for index in 0..<batch.count {
      if batch.threads[index] != thread {
        if work.events > 0 { works[thread] = work }
        thread = batch.threads[index]
        work = works[thread] ?? Work()
      }
      work.events &+= 1
      work.last = max(work.last, batch.times[index])
    }
    if work.events > 0 { works[thread] = work }
  }

  override func answer(_ information: TraceInformation) -> ThreadList? {
    var rows: [ThreadID: ThreadList.Row] = [:]
    // A name that came from another thread may stand before the row of the thread itself. Sorting is stable.
    for record in trace.threads.sorted(by: { $0.time < $1.time }) { take(record, &rows) }
    for origin in trace.threadOrigins { take(origin, &rows) }
    for (number, work) in works where number != 0 {
      // A trace that was cut may have lost the row of a thread.
      var row = rows[ThreadID(number)] ?? ThreadList.Row(thread: ThreadID(number))
      row.events = work.events
      row.lastEvent = trace.header.time(Ticks(work.last))
      rows[row.thread] = row
    }
    let all = rows.values.sorted { $0.thread < $1.thread }.map { row in
      var row = row
      row.age = (row.ended ?? information.end).rawValue &- row.born.rawValue
      return row
    }
    let living = all.count { $0.state == .living }
    return ThreadList(
      lifespan: question.lifespan, rows: all.filter { keeps($0) }, livingCount: living, endedCount: all.count - living)
  }

  private func keeps(_ row: ThreadList.Row) -> Bool {
    switch question.lifespan {
    case .all: true
    case .living: row.state == .living
    case .destroyed: row.state != .living
    }
  }

  private func take(_ record: ThreadRecord, _ rows: inout [ThreadID: ThreadList.Row]) {
    let time = trace.header.time(record.time)
    var row = rows[record.thread] ?? ThreadList.Row(thread: record.thread, tid: record.tid, born: time)
    if !record.name.isEmpty || record.op == .renamed { row.name = record.name }
    switch record.op {
    case .seen:
      row.tid = record.tid
      row.born = record.thread == .main ? .start : time
    case .ended:
      row.state = .ended
      row.ended = time
    case .gone where row.state == .living:
      row.state = .gone
      row.ended = time
    default: break
    }
    rows[record.thread] = row
  }

  private func take(_ origin: ThreadOriginRecord, _ rows: inout [ThreadID: ThreadList.Row]) {
    var row = rows[origin.thread] ?? ThreadList.Row(thread: origin.thread)
    row.born = trace.header.time(origin.time)
    row.isOriginKnown = true
    row.creator = origin.creator == .unknown ? nil : origin.creator
    row.stack = origin.stack
    row.start = origin.start
    row.stackBytes = origin.stackBytes == 0 ? nil : ByteCount(Int64(clamping: origin.stackBytes))
    rows[origin.thread] = row
  }
}
