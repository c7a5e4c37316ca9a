// What happened to many objects: the question behind the page's list of single objects. `Analysis.history` asks of one alone.
import LifespanTrace

/// The events of many objects.
public struct Histories: Sendable, Codable, Equatable {
  /// One object's.
  public struct Entry: Sendable, Codable, Hashable {
    /// Which object.
    public var serial: SerialNumber
    /// Its events after its birth, in order; the first ones where there were too many.
    public var events: [History.Event]
    /// All of them, those that are left out too.
    public var count: Int

    /// Memberwise.
    public init(serial: SerialNumber, events: [History.Event], count: Int) {
      self.serial = serial
      self.events = events
      self.count = count
    }
  }

  /// In the order of serials; of objects to which nothing happened after their birth none.
  public var entries: [Entry]

  /// Memberwise.
  public init(entries: [Entry]) { self.entries = entries }
}

/// Asks what happened to objects after their birth. Memory: the events.
public struct HistoriesQuestion: Question, Sendable {
  /// The objects, ascending.
  public var serials: [SerialNumber]
  /// Events of one object at most.
  public var limit: Int

  /// Memberwise.
  public init(serials: [SerialNumber], limit: Int) {
    self.serials = serials
    self.limit = limit
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Histories> {
    HistoriesCollector(self, analysis)
  }
}

private final class HistoriesCollector: Collector<Histories> {
  private let limit: Int
  private let maker: HistoryEventMaker
  private var histories: [UInt64: HistoryEvents]
  private let newest: UInt64

  init(_ question: HistoriesQuestion, _ analysis: Analysis) {
    limit = question.limit
    maker = HistoryEventMaker(analysis)
    histories = Dictionary(question.serials.map { ($0.rawValue, HistoryEvents()) }) { one, _ in one }
    newest = question.serials.last?.rawValue ?? 0
    super.init([.times, .threads, .tasks, .addresses, .stacks, .moves, .serials, .amounts])
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let serial = batch.serials[index]
      guard serial != 0, serial <= newest, let place = histories.index(forKey: serial),
        let event = histories.values[place].next(batch, index, maker)
      else { continue }
      // The birth is what everybody knows of an object. A beginning deinit is told from the release before it.
      if event.kind != .birth, histories.values[place].list.count < limit { histories.values[place].append(event) }
    }
  }

  override func answer(_ information: TraceInformation) -> Histories? {
    let entries = histories.lazy.filter { !$0.value.list.isEmpty }.map { serial, history in
      let begins = history.list.count { $0.kind == .deinitBegins }
      return Histories.Entry(
        serial: SerialNumber(serial), events: history.list, count: max(history.list.count, history.number - 1 + begins))
    }
    return Histories(entries: entries.sorted { $0.serial < $1.serial })
  }
}
