// One object's life: the question behind `history`. By address it takes two passes: which objects lay there, then the
// newest one's events.
import LifespanTrace

/// Which object.
public enum ObjectSelector: Sendable, Codable, Hashable {
  /// By its number, `@12`.
  case serial(SerialNumber)
  /// By its address: the newest object that ever lay there.
  case address(ObjectAddress)
}

extension Analysis {
  /// The events of one object within `window`, the object as it is at the window's end; by address the newest that lay
  /// there by then. Throws where the recording holds no such object, with the nearest that it holds.
  public func history(of selector: ObjectSelector, window: TimeWindow = .whole) throws(Failure) -> History {
    let serials: [SerialNumber]
    var earlier: UInt64 = 0
    switch selector {
    case .serial(let serial): serials = [serial]
    case .address(let address): (serials, earlier) = try residents(address, window)
    }
    let found = try answer(HistoryQuestion(serials, window))
    guard var history = found.history else {
      if let serial = serials.last, let moment = window.to, found.isBornLater {
        throw .question(.bornLater(serial, moment))
      }
      if let discarded = try? information().discarded, let serial = serials.last,
        (1...max(1, found.births)).contains(serial.rawValue)
      {
        throw .question(.discarded(serial, before: discarded.before, by: discarded.by))
      }
      // Residents were found by address before, so it is the serial that isn't there.
      throw .question(.unknownSerial(serials.last ?? SerialNumber(0), births: found.births))
    }
    history.earlierOthers = earlier
    return history
  }

  private func residents(
    _ address: ObjectAddress, _ window: TimeWindow
  ) throws(Failure) -> (serials: [SerialNumber], earlier: UInt64) {
    let found = try answer(ResidentsQuestion(address: address, window: window))
    if found.serials.isEmpty {
      if found.hasAddresses, let discarded = try? information().discarded {
        throw .question(
          .discardedAddress(address, nearest: found.nearest, before: discarded.before, by: discarded.by))
      }
      throw .question(found.hasAddresses ? .unknownAddress(address, nearest: found.nearest) : .noAddresses)
    }
    return (found.serials, found.earlier)
  }
}

/// Which objects lay at an address last, in the order of their coming. In a long run an address has millions.
private struct ResidentsQuestion: Question {
  struct Answer: Sendable, Codable {
    var serials: [SerialNumber]
    /// Objects that lay there before these.
    var earlier: UInt64
    var nearest: [ObjectAddress]
    var hasAddresses: Bool
  }

  var address: ObjectAddress
  var window: TimeWindow

  func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Answer> {
    ResidentsCollector(address, try Window(window, analysis))
  }
}

private final class ResidentsCollector: Collector<ResidentsQuestion.Answer> {
  private let address: UInt64
  private let window: Window
  private static let most = 1000
  private var serials: [UInt64] = []
  private var earlier: UInt64 = 0
  private var below: UInt64 = 0
  private var above = UInt64.max

  init(_ address: ObjectAddress, _ window: Window) {
    self.address = address.rawValue
    self.window = window
    super.init(window.columns.union([.addresses, .serials]))
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let kind = batch.kind(index)
      guard kind == .birth || kind == .moved, batch.addresses[index] != 0 else { continue }
      guard kind == .birth ? window.isBorn(batch, index) : window.sees(batch, index) else { continue }
      let place = batch.addresses[index]
      if place == address {
        if batch.serials[index] != 0 { came(batch.serials[index], again: kind == .moved) }
      } else if place < address {
        below = max(below, place)
      } else {
        above = min(above, place)
      }
    }
  }

  private func came(_ serial: UInt64, again: Bool) {
    if again { serials.removeAll { $0 == serial } }
    serials.append(serial)
    guard serials.count >= 2 * Self.most else { return }
    earlier &+= UInt64(serials.count - Self.most)
    serials.removeFirst(serials.count - Self.most)
  }

  override func answer(_ information: TraceInformation) -> ResidentsQuestion.Answer? {
    let near = [below, above].filter { $0 != 0 && $0 != UInt64.max }
    return ResidentsQuestion.Answer(
      serials: serials.suffix(Self.most).map { SerialNumber($0) },
      earlier: earlier &+ UInt64(max(0, serials.count - Self.most)), nearest: near.map { ObjectAddress($0) },
      hasAddresses: !near.isEmpty || !serials.isEmpty)
  }
}

/// The events of the last of these objects, and the records of all.
private struct HistoryQuestion: Question {
  struct Answer: Sendable, Codable {
    var history: History?
    var births: UInt64
    /// It is there, but not yet born at the window's end.
    var isBornLater = false
  }

  var serials: [SerialNumber]
  var window: TimeWindow

  init(_ serials: [SerialNumber], _ window: TimeWindow) {
    self.serials = serials
    self.window = window
  }

  func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Answer> {
    HistoryCollector(serials, try Window(window, analysis), analysis)
  }
}

private final class HistoryCollector: Collector<HistoryQuestion.Answer> {
  private let analysis: Analysis
  private let window: Window
  private let wanted: Set<UInt64>
  private let order: [UInt64]
  private let tracker: ObjectTracker
  private let maker: HistoryEventMaker
  private var gone: [UInt64: ObjectTracker.Life] = [:]
  private var events = HistoryEvents()
  private var isBornLater = false

  init(_ serials: [SerialNumber], _ window: Window, _ analysis: Analysis) {
    self.analysis = analysis
    self.window = window
    order = serials.map(\.rawValue)
    wanted = Set(order)
    tracker = ObjectTracker(analysis)
    maker = HistoryEventMaker(analysis)
    super.init(tracker.columns.union(.amounts))
  }

  override func take(_ batch: EventBatch) {
    let main = order.last ?? 0
    for index in 0..<batch.count {
      let serial = batch.serials[index]
      guard serial == main || (wanted.count > 1 && wanted.contains(serial)), serial != 0 else { continue }
      let isBirth = batch.kind(index) == .birth
      guard isBirth ? window.isBorn(batch, index) : window.sees(batch, index) else {
        isBornLater = isBornLater || (isBirth && serial == main)
        continue
      }
      if isBirth {
        tracker.follow(batch, index)
      } else if let life = tracker.take(batch, index) {
        gone[serial] = life
      }
      guard serial == main, let event = events.next(batch, index, maker) else { continue }
      if window.shows(batch, index) { events.append(event) }
    }
  }

  override func answer(_ information: TraceInformation) -> HistoryQuestion.Answer? {
    tracker.drain { gone[$0.serial] = $0 }
    let end = window.end.map { analysis.trace.header.time($0) } ?? information.end
    let records = order.compactMap { serial in gone[serial].map { tracker.record($0, end: end) } }
    guard let last = order.last, let object = records.last, object.serial.rawValue == last else {
      return HistoryQuestion.Answer(history: nil, births: information.birthsRecorded, isBornLater: isBornLater)
    }
    let history = History(object: object, events: events.list, others: Array(records.dropLast()))
    return HistoryQuestion.Answer(history: history, births: information.birthsRecorded)
  }
}
