// The single objects of a type, and the same grouped by the stack that made them: the question behind `objects` and behind
// the drill-down from a generation and a type.
import LifespanTrace

/// Asks for single objects.
///
/// `living` lists what the persistent columns count, `destroyed` what the transient ones count: an object that was
/// deinitialised is destroyed, also while unowned references keep its memory (see `Tally`).
public struct ObjectsQuestion: Question, Sendable {
  /// Which types.
  public var types: TypeFilter
  /// Living, destroyed, or all.
  public var lifespan: LifespanFilter
  /// Only objects of the generation of that name: its mark's, or the letters of the one that is still open.
  public var generation: String?
  /// Only objects made there.
  public var stack: StackID?
  /// Only objects born in it, looked at its end.
  public var window: TimeWindow
  /// At most so many objects in the list; groups and sums have all.
  public var limit: Int?

  /// Memberwise.
  public init(
    types: TypeFilter = TypeFilter(), lifespan: LifespanFilter = .living, generation: String? = nil,
    stack: StackID? = nil, window: TimeWindow = .whole, limit: Int? = nil
  ) {
    self.types = types
    self.lifespan = lifespan
    self.generation = generation
    self.stack = stack
    self.window = window
    self.limit = limit
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<ObjectList> {
    var number: UInt32?
    if let generation {
      let open = UInt32(analysis.timeline.marks.count)
      number = generation == analysis.timeline.openName ? open : UInt32(try analysis.timeline.index(of: generation))
    }
    return ObjectsCollector(
      self, analysis, try Window(window, analysis), try analysis.catalog.selection(types), generation: number)
  }
}

private final class ObjectsCollector: Collector<ObjectList> {
  private struct Key: Hashable {
    var row: Int
    var stack: UInt32
  }

  private let question: ObjectsQuestion
  private let analysis: Analysis
  private let window: Window
  private let followed: [Bool]
  private let selected: [Bool]
  private let generation: UInt32?
  private let tracker: ObjectTracker
  /// With a limit: the first of what has matched so far.
  private var found: [ObjectTracker.Life] = []
  private var groups: [Key: Difference.Amount] = [:]
  private var total = Difference.Amount()
  private var kept = Difference.Amount()

  init(
    _ question: ObjectsQuestion, _ analysis: Analysis, _ window: Window, _ selected: [Bool], generation: UInt32?
  ) {
    self.question = question
    self.analysis = analysis
    self.window = window
    self.generation = generation
    followed = analysis.catalog.followed(selected, analysis.trace)
    self.selected = selected
    tracker = ObjectTracker(analysis, keepsGone: question.limit == nil && question.lifespan != .living)
    super.init(tracker.columns)
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      if batch.kind(index) == .birth {
        if wants(batch, index) { tracker.follow(batch, index) }
      } else if window.sees(batch, index), let gone = tracker.take(batch, index),
        question.lifespan != .living, isSelected(gone), let limit = question.limit
      {
        count(gone)
        keep(gone, limit: max(0, limit))
      }
    }
  }

  private func wants(_ batch: EventBatch, _ index: Int) -> Bool {
    guard followed[Int(batch.sites[index])], window.holdsBirth(batch, index) else { return false }
    // What may move is judged where it has come to.
    if let stack = question.stack, stack.rawValue != batch.stacks[index], !mayMove(batch.sites[index]) { return false }
    guard let generation else { return true }
    return analysis.timeline.generation(file: batch.generations[index], time: batch.times[index]) == generation
  }

  /// Counts an object that belongs to the answer.
  // A block may have moved to another row since its birth.
  private func isSelected(_ life: ObjectTracker.Life) -> Bool {
    if let stack = question.stack, stack.rawValue != life.stack { return false }
    return selected[analysis.catalog.rowOfSite[Int(life.site)]]
  }

  private func mayMove(_ site: UInt32) -> Bool {
    analysis.catalog.rows[analysis.catalog.rowOfSite[Int(site)]].kind == .malloc
  }

  private func count(_ life: ObjectTracker.Life) {
    let amount = Difference.Amount(count: 1, bytes: ByteCount(life.size))
    total += amount
    groups[key(life), default: .init()] += amount
  }

  private func key(_ life: ObjectTracker.Life) -> Key {
    Key(row: analysis.catalog.rowOfSite[Int(life.site)], stack: life.stack)
  }

  /// Deaths come in any order, the list is by birth: cut now and then, so that memory follows the limit.
  private func keep(_ life: ObjectTracker.Life, limit: Int) {
    found.append(life)
    if found.count > 2 * limit &+ 4096 { cut(to: limit) }
  }

  private func cut(to limit: Int) {
    found.sort { $0.serial < $1.serial }
    if found.count > limit { found.removeLast(found.count - limit) }
  }

  /// Whether an object that is followed at the end belongs to the answer.
  private func belongs(_ life: ObjectTracker.Life) -> Bool {
    switch question.lifespan {
    case _ where !isSelected(life): false
    case .all: true
    case .living: life.state == ObjectTracker.State.living
    case .destroyed: life.state != ObjectTracker.State.living
    }
  }

  /// The list in pieces, and what the tracker still holds counted.
  private func pieces() -> [[ObjectTracker.Life]] {
    var pieces: [[ObjectTracker.Life]] = []
    func append(_ life: ObjectTracker.Life) {
      if pieces.last?.count ?? ObjectRecords.pieceLength == ObjectRecords.pieceLength {
        pieces.append([])
        pieces[pieces.count - 1].reserveCapacity(ObjectRecords.pieceLength)
      }
      pieces[pieces.count - 1].append(life)
    }
    tracker.drain { life in
      if life.state == ObjectTracker.State.kept, isSelected(life) {
        kept += Difference.Amount(count: 1, bytes: ByteCount(life.size))
      }
      guard belongs(life) else { return }
      count(life)
      if let limit = question.limit { keep(life, limit: max(0, limit)) } else { append(life) }
    }
    if let limit = question.limit {
      cut(to: max(0, limit))
      found.forEach(append)
    }
    return pieces
  }

  override func answer(_ information: TraceInformation) -> ObjectList? {
    let pieces = pieces()
    let end = window.end.map { analysis.trace.header.time($0) } ?? information.end
    var serials: [Key: [SerialNumber]] = [:]
    for piece in pieces {
      for life in piece { serials[key(life), default: []].append(SerialNumber(life.serial)) }
    }
    let list = groups.map { key, amount in
      ObjectList.StackGroup(
        type: analysis.catalog.rows[key.row], stack: StackID(key.stack), count: amount.count, bytes: amount.bytes,
        serials: serials[key] ?? [])
    }
    let sorted = list.sorted { one, other in
      let left = (other.bytes, other.count, one.type.name, one.type.id, one.stack)
      let right = (one.bytes, one.count, other.type.name, other.type.id, other.stack)
      return left < right
    }
    return ObjectList(
      objects: ObjectRecords(pieces: pieces, tracker.maker, end: end), count: total.count, bytes: total.bytes,
      groups: sorted, keptCount: kept.count, keptBytes: kept.bytes)
  }
}
