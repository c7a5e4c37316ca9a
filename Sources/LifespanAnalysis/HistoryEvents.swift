// Makes the events of one object's history from a trace's: what each changed in the count, and what it was. Used by the questions of
// histories.
import LifespanTrace

/// What the events of all objects have in common.
struct HistoryEventMaker {
  let trace: Trace
  let catalog: TypeCatalog
  let references: ReferenceRecording

  init(_ analysis: Analysis) {
    trace = analysis.trace
    catalog = analysis.catalog
    references = ReferenceRecording(analysis.trace)
  }

  static let kinds: [EventKind: History.Kind] = [
    .birth: .birth, .death: .death, .deinitEnded: .deinitEnded, .free: .free, .plainFree: .plainFree,
    .retain: .retain, .release: .release, .deinitBegins: .deinitBegins, .moved: .moved, .endNotSeen: .endNotSeen,
    .misuse: .misuse,
  ]

  static func misuse(_ number: UInt8) -> History.Misuse {
    let misuses: [UInt8: History.Misuse] = [
      1: .retained, 2: .released, 3: .unownedRead, 4: .escaped, 5: .releasedBelowZero,
    ]
    return misuses[number] ?? .other
  }

  static func address(_ address: UInt64) -> ObjectAddress? { address == 0 ? nil : ObjectAddress(address) }

  static func flavour(_ number: UInt8) -> History.Flavour {
    let flavours: [History.Flavour] = [.strong, .weakLoad, .unownedLoad, .tryRetain, .devirtualised]
    return Int(number) < flavours.count ? flavours[Int(number)] : .other
  }
}

/// The events of one object so far.
struct HistoryEvents {
  /// Those that were appended.
  private(set) var list: [History.Event] = []
  /// The strong count by what was recorded so far; nil where events are missing.
  private var count: Int?
  /// Where the last release before the deinit stands.
  private var lastRelease: Int?
  private var countsReferences = true
  /// Of the object's events, also those that were not appended.
  private(set) var number = 0

  /// What an event is in the object's history, counted; nil where it is none.
  mutating func next(_ batch: EventBatch, _ index: Int, _ maker: HistoryEventMaker) -> History.Event? {
    guard let kind = HistoryEventMaker.kinds[batch.kind(index)] else { return nil }
    let amount = batch.amounts[index]
    let isCount = kind == .retain || kind == .release
    var change = 0
    var size: ByteCount?
    if kind == .birth {
      let site = maker.trace.sites[Int(batch.sites[index])]
      let row = maker.catalog.rows[maker.catalog.rowOfSite[Int(batch.sites[index])]]
      countsReferences = row.kind.hasReferenceCount
      change = countsReferences ? 1 : 0
      count = maker.references.holdsAll(row) ? 0 : nil
      size = site.size
    }
    if isCount { change = kind == .retain ? Int(amount.amount) : -Int(amount.amount) }
    if kind == .moved { size = maker.trace.sites[Int(batch.sites[index])].size }
    count = count.map { $0 + change }
    number += 1
    return History.Event(
      number: number, kind: kind, flavour: isCount ? HistoryEventMaker.flavour(amount.flavour & 0x7f) : nil,
      misuse: kind == .misuse ? HistoryEventMaker.misuse(amount.flavour) : nil,
      left: kind == .misuse && amount.flavour == 4 ? amount.countBefore.map { Int($0) } : nil,
      isInDeinit: isCount && amount.flavour & 0x80 != 0,
      change: change, countAfter: countAfter(kind, amount, change),
      time: maker.trace.header.time(Ticks(batch.times[index])), thread: ThreadID(batch.threads[index]),
      task: batch.tasks[index] == 0 ? nil : TaskID(batch.tasks[index]), stack: StackID(batch.stacks[index]),
      address: kind == .birth || kind == .moved ? HistoryEventMaker.address(batch.addresses[index]) : nil, size: size)
  }

  private func countAfter(_ kind: History.Kind, _ amount: EventAmount, _ change: Int) -> Int? {
    switch kind {
    case .birth: countsReferences ? 1 : nil
    // By what was recorded: of two threads' events at once each saw the count as if the other had not been.
    case .retain, .release: count ?? amount.countBefore.map { max(0, Int($0) + change) }
    case .deinitBegins, .deinitEnded, .death: countsReferences ? 0 : nil
    default: nil
    }
  }

  /// A deinit begins with the last release that did not come out of it.
  mutating func append(_ event: History.Event) {
    if event.kind == .release, !event.isInDeinit { lastRelease = list.count }
    let ends = event.kind == .death || event.kind == .deinitEnded
    if ends, let last = lastRelease, !list.contains(where: { $0.kind == .deinitBegins }) {
      var begins = list[last]
      begins.kind = .deinitBegins
      begins.flavour = nil
      begins.change = 0
      begins.countAfter = 0
      list.insert(begins, at: last + 1)
    }
    list.append(event)
  }
}
