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
  /// The events of one object. Throws where the recording holds no such object, with the nearest that it holds.
  public func history(of selector: ObjectSelector) throws(Failure) -> History {
    let serials: [SerialNumber]
    switch selector {
    case .serial(let serial): serials = [serial]
    case .address(let address): serials = try residents(address)
    }
    let found = try answer(HistoryQuestion(serials))
    guard let history = found.history else {
      // Residents were found by address before, so it is the serial that isn't there.
      throw .question(.unknownSerial(serials.last ?? SerialNumber(0), births: found.births))
    }
    return history
  }

  private func residents(_ address: ObjectAddress) throws(Failure) -> [SerialNumber] {
    let found = try answer(ResidentsQuestion(address: address))
    if found.serials.isEmpty {
      throw .question(found.hasAddresses ? .unknownAddress(address, nearest: found.nearest) : .noAddresses)
    }
    return found.serials
  }
}

/// Which objects ever lay at an address, in the order of their coming.
private struct ResidentsQuestion: Question {
  struct Answer: Sendable, Codable {
    var serials: [SerialNumber]
    var nearest: [ObjectAddress]
    var hasAddresses: Bool
  }

  var address: ObjectAddress

  func collector(_ analysis: Analysis) -> Collector<Answer> { ResidentsCollector(address) }
}

private final class ResidentsCollector: Collector<ResidentsQuestion.Answer> {
  private let address: UInt64
  private var serials: [UInt64] = []
  private var below: UInt64 = 0
  private var above = UInt64.max

  init(_ address: ObjectAddress) {
    self.address = address.rawValue
    super.init([.addresses, .serials])
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let kind = batch.kind(index)
      guard kind == .birth || kind == .moved, batch.addresses[index] != 0 else { continue }
      let place = batch.addresses[index]
      if place == address {
        if batch.serials[index] != 0 {
          serials.removeAll { $0 == batch.serials[index] }
          serials.append(batch.serials[index])
        }
      } else if place < address {
        below = max(below, place)
      } else {
        above = min(above, place)
      }
    }
  }

  override func answer(_ information: TraceInformation) -> ResidentsQuestion.Answer? {
    let near = [below, above].filter { $0 != 0 && $0 != UInt64.max }
    return ResidentsQuestion.Answer(
      serials: serials.map { SerialNumber($0) }, nearest: near.map { ObjectAddress($0) },
      hasAddresses: !near.isEmpty || !serials.isEmpty)
  }
}

/// The events of the last of these objects, and the records of all.
private struct HistoryQuestion: Question {
  struct Answer: Sendable, Codable {
    var history: History?
    var births: UInt64
  }

  var serials: [SerialNumber]

  init(_ serials: [SerialNumber]) { self.serials = serials }

  func collector(_ analysis: Analysis) -> Collector<Answer> { HistoryCollector(serials, analysis) }
}

private final class HistoryCollector: Collector<HistoryQuestion.Answer> {
  private let analysis: Analysis
  private let wanted: Set<UInt64>
  private let order: [UInt64]
  private let tracker: ObjectTracker
  private var gone: [UInt64: ObjectTracker.Life] = [:]
  private var events: [History.Event] = []
  private var countsReferences = true

  init(_ serials: [SerialNumber], _ analysis: Analysis) {
    self.analysis = analysis
    order = serials.map(\.rawValue)
    wanted = Set(order)
    tracker = ObjectTracker(analysis)
    super.init(ObjectTracker.columns.union(.amounts))
  }

  override func take(_ batch: EventBatch) {
    let main = order.last ?? 0
    for index in 0..<batch.count {
      let serial = batch.serials[index]
      guard serial == main || (wanted.count > 1 && wanted.contains(serial)), serial != 0 else { continue }
      if batch.kind(index) == .birth {
        tracker.follow(batch, index)
      } else if let life = tracker.take(batch, index) {
        gone[serial] = life
      }
      if serial == main, let event = event(batch, index) { events.append(event) }
    }
  }

  private func event(_ batch: EventBatch, _ index: Int) -> History.Event? {
    let kinds: [EventKind: History.Kind] = [
      .birth: .birth, .death: .death, .deinitEnded: .deinitEnded, .free: .free, .plainFree: .plainFree,
      .retain: .retain, .release: .release, .deinitBegins: .deinitBegins, .moved: .moved, .endNotSeen: .endNotSeen,
    ]
    guard let kind = kinds[batch.kind(index)] else { return nil }
    let amount = batch.amounts[index]
    let isCount = kind == .retain || kind == .release
    var change = 0
    var size: ByteCount?
    if kind == .birth {
      let site = analysis.trace.sites[Int(batch.sites[index])]
      let row = analysis.catalog.rows[analysis.catalog.rowOfSite[Int(batch.sites[index])]]
      countsReferences = !HistoryCollector.uncounted.contains(row.kind)
      change = countsReferences ? 1 : 0
      size = site.size
    }
    if isCount { change = kind == .retain ? Int(amount.amount) : -Int(amount.amount) }
    if kind == .moved { size = ByteCount(Int64(clamping: batch.moveSizes[index])) }
    return History.Event(
      number: events.count + 1, kind: kind, flavour: isCount ? HistoryCollector.flavour(amount.flavour) : nil,
      change: change, countAfter: countAfter(kind, amount, change),
      time: analysis.trace.header.time(Ticks(batch.times[index])), thread: ThreadID(batch.threads[index]),
      task: batch.tasks[index] == 0 ? nil : TaskID(batch.tasks[index]), stack: StackID(batch.stacks[index]),
      address: kind == .birth || kind == .moved ? HistoryCollector.address(batch.addresses[index]) : nil, size: size)
  }

  /// What has no strong count.
  private static let uncounted: Set<ObjectKind> = [.thread, .malloc, .vm, .token]

  private func countAfter(_ kind: History.Kind, _ amount: EventAmount, _ change: Int) -> Int? {
    switch kind {
    case .birth: countsReferences ? 1 : nil
    case .retain, .release: amount.countBefore.map { max(0, Int($0) + change) }
    case .deinitBegins, .deinitEnded, .death: countsReferences ? 0 : nil
    default: nil
    }
  }

  private static func address(_ address: UInt64) -> ObjectAddress? { address == 0 ? nil : ObjectAddress(address) }

  private static func flavour(_ number: UInt8) -> History.Flavour {
    let flavours: [History.Flavour] = [.strong, .weakLoad, .unownedLoad, .tryRetain, .devirtualised]
    return Int(number) < flavours.count ? flavours[Int(number)] : .other
  }

  override func answer(_ information: TraceInformation) -> HistoryQuestion.Answer? {
    tracker.forEachLeft { gone[$0.serial] = $0 }
    let records = order.compactMap { serial in gone[serial].map { tracker.record($0, end: information.end) } }
    guard let last = order.last, let object = records.last, object.serial.rawValue == last else {
      return HistoryQuestion.Answer(history: nil, births: information.birthsRecorded)
    }
    let history = History(object: object, events: events, others: Array(records.dropLast()))
    return HistoryQuestion.Answer(history: history, births: information.birthsRecorded)
  }
}
