// Marks and moments: which generation an event belongs to, and what happened before which moment. Made once by Analysis.
import LifespanTrace

/// The marks of a recording and those set afterwards, in order.
public struct Timeline: Sendable {
  /// One mark.
  struct Mark: Sendable {
    var name: String
    var time: Ticks
    /// Marks of the file: the index of the first event after it.
    var firstEvent: UInt64?
    /// Marks of the file: the generation that it closes, by the file's numbers. Later marks: the file's generation that
    /// they lie in.
    var fileGeneration: UInt32
  }

  /// In order; mark number n closes generation n.
  let marks: [Mark]
  /// The letters of the generation after the last mark.
  let openName: String
  let hasLaterMarks: Bool
  private let laterMarks: [(fileGeneration: UInt32, time: Int64)]
  private let fileMarks: [UInt32]
  let ticksPerUnit: Int64
  private let header: TraceHeader

  init(_ trace: Trace, later: [LaterMark]) {
    header = trace.header
    ticksPerUnit = Int64(trace.header.ticksPerUnit)
    fileMarks = trace.marks.map(\.closes.rawValue)
    var all = trace.marks.map {
      Mark(name: $0.name, time: $0.time, firstEvent: $0.firstEvent, fileGeneration: $0.closes.rawValue)
    }
    let added = later.map { mark in
      let time = trace.header.ticks(mark.time)
      let generation = trace.marks.last { $0.time <= time }.map { $0.closes.rawValue &+ 1 } ?? 0
      return Mark(name: mark.name, time: time, firstEvent: nil, fileGeneration: generation)
    }.sorted { ($0.fileGeneration, $0.time) < ($1.fileGeneration, $1.time) }
    hasLaterMarks = !added.isEmpty
    laterMarks = added.map { ($0.fileGeneration, $0.time.rawValue) }
    for mark in added {
      // Inside its generation of the file, so before the mark that closes that one.
      let place = all.firstIndex { other in
        other.firstEvent != nil
          ? other.fileGeneration >= mark.fileGeneration
          : (other.fileGeneration, other.time) > (mark.fileGeneration, mark.time)
      }
      all.insert(mark, at: place ?? all.count)
    }
    var names = GenerationLetters()
    for index in all.indices { all[index].name = names.name(all[index].name) }
    marks = all
    openName = names.name("")
  }

  /// The columns that `generation` needs.
  var columns: EventColumns { hasLaterMarks ? [.generations, .times] : .generations }

  /// The generation of a birth among all marks, from what the file says and its time.
  @inline(__always)
  func generation(file: UInt32, time: Int64) -> UInt32 {
    hasLaterMarks ? split(file, time) : dense(file)
  }

  /// Generations of a whole file are numbered without holes; of a damaged one they may not be.
  @inline(__always)
  private func dense(_ file: UInt32) -> UInt32 {
    let count = fileMarks.count
    if Int(file) <= count, file == 0 || fileMarks[Int(file) - 1] == file - 1 { return file }
    return UInt32(truncatingIfNeeded: fileMarks.partitionPoint { $0 >= file })
  }

  private func split(_ file: UInt32, _ time: Int64) -> UInt32 {
    let before = laterMarks.partitionPoint { $0.fileGeneration > file || ($0.fileGeneration == file && $0.time > time) }
    return dense(file) + UInt32(truncatingIfNeeded: before)
  }

  /// A resolved moment.
  struct Cut: Sendable {
    /// The mark's number, for marks.
    var mark: UInt32?
    /// For marks of the file.
    var firstEvent: UInt64?
    var time: Int64
    var ticksPerUnit: Int64
    /// Exactly before this event, whatever its stamp and those around it.
    var exactly: UInt64?

    /// Whether a birth lies before the moment.
    @inline(__always)
    func isAfterBirth(generation: UInt32, time: Int64) -> Bool {
      if let mark { return generation <= mark }
      return time < self.time
    }

    /// Whether another event lies before it: by position, and, for one that turned up late, by its stamp, of which the
    /// file holds the unit that it lies in.
    @inline(__always)
    func isAfter(event: UInt64, time: Int64) -> Bool {
      if let exactly { return event < exactly }
      if let firstEvent { return event < firstEvent || time &+ ticksPerUnit <= self.time }
      return time < self.time
    }
  }

  /// The moment behind a mark's number.
  func cut(mark: Int) -> Cut {
    Cut(
      mark: UInt32(mark), firstEvent: marks[mark].firstEvent, time: marks[mark].time.rawValue,
      ticksPerUnit: ticksPerUnit)
  }

  /// The moment that a question names.
  func cut(_ moment: Moment, _ header: TraceHeader) throws(QuestionError) -> Cut {
    switch moment {
    case .time(let time): return Cut(time: header.ticks(time).rawValue, ticksPerUnit: ticksPerUnit)
    case .mark(let name): return cut(mark: try index(of: name))
    case .peak(let peak):
      return Cut(time: header.ticks(peak.time).rawValue, ticksPerUnit: ticksPerUnit, exactly: peak.events)
    }
  }

  /// Two moments, the first before the second: of several marks with the first one's name it is the last before the second.
  func cuts(
    _ first: Moment, _ second: Moment, _ header: TraceHeader
  ) throws(QuestionError) -> (from: Cut, to: Cut) {
    let to = try cut(second, header)
    var from = try cut(first, header)
    if case .mark(let name) = first,
      let index = marks.indices.last(where: { marks[$0].name == name && isBefore(cut(mark: $0), to) })
    {
      from = cut(mark: index)
    }
    // A peak was looked for from the first moment on.
    guard to.exactly != nil || isBefore(from, to) else { throw .emptyWindow(first, second) }
    return (from, to)
  }

  private func isBefore(_ one: Cut, _ other: Cut) -> Bool {
    if let first = one.mark, let second = other.mark { return first < second }
    return one.time < other.time
  }

  /// Where a cut's name is that of several marks: what it is called, how many there are, which one it is.
  func ambiguity(_ cut: Cut) -> AmbiguousMark? {
    guard let number = cut.mark, Int(number) < marks.count else { return nil }
    let mark = marks[Int(number)]
    let count = marks.lazy.filter { $0.name == mark.name }.count
    return count > 1 ? AmbiguousMark(name: mark.name, count: count, time: header.time(mark.time)) : nil
  }

  /// The number of the last mark with that name.
  func index(of name: String) throws(QuestionError) -> Int {
    guard let index = marks.lastIndex(where: { $0.name == name }) else {
      throw .unknownMark(name, nearest: marks.isEmpty ? [] : suggestions(name))
    }
    return index
  }

  private func suggestions(_ name: String) -> [String] {
    let near = Nearest.names(to: name, among: marks.map(\.name))
    // A recording has few marks: where none is near, the last ones help.
    return near.isEmpty ? Array(marks.suffix(3).map(\.name)) : near
  }
}

extension Array {
  /// The first index for which the predicate holds, in an array that has those last.
  @inline(__always)
  func partitionPoint(_ holds: (Element) -> Bool) -> Int {
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if holds(self[middle]) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}
