// The history of one object, as the recorder still holds it.
#if Recording
internal import CDrain

extension Allocations {
  /// What happened to an object: births, retains, releases and deaths with counts and backtraces, as many of the newest
  /// as are kept.
  ///
  /// Reference counts are recorded for tracked types, and for all with `referenceCounts: true`. The call itself may
  /// retain the object; that is an event like any other.
  ///
  /// - Returns: the history; without events where nothing is recorded or the object's birth was not:
  ///   ``History/missing`` says why.
  ///
  /// Cost: what has been recorded since the last question, one look at all kept events, and one question for each
  /// different backtrace.
  public static func history(of object: AnyObject) -> History {
    let address = Address(rawValue: UInt64(UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())))
    let isa = unsafeBitCast(type(of: object) as AnyClass, to: UInt.self)
    do {
      let asked = try ask(address)
      guard let type = try knownType(asked, isa) else { return History(address, asked.runtimeCount, missing: nil) }
      return try recordedHistory(at: address, of: type, asked)
    } catch {
      return History(address, runtimeCount(address), missing: error)
    }
  }

  private struct Asked {
    var head: lifespan_history_head
    var events: [lifespan_history_event]
    var runtimeCount: Int
  }

  /// Nothing that belongs to the object is touched here. Asked anew where another thread has changed its count meanwhile.
  private static func ask(_ address: Address) throws(NotRecording) -> Asked {
    for turn in 1... {
      let before = runtimeCount(address)
      let answer = try Door.ask(LIFESPAN_ASK_HISTORY, address: address.rawValue)
      let after = runtimeCount(address)
      if before != after, turn < 4 { continue }
      return answer.withBytes { bytes in
        let size = MemoryLayout<lifespan_history_head>.stride
        guard bytes.count >= size else { return Asked(head: .init(), events: [], runtimeCount: after) }
        let events = UnsafeRawBufferPointer(rebasing: bytes[size...]).rows(of: lifespan_history_event.self)
        return Asked(
          head: bytes.loadUnaligned(as: lifespan_history_head.self), events: events, runtimeCount: after)
      }
    }
    return Asked(head: .init(), events: [], runtimeCount: runtimeCount(address))
  }

  private static func recordedHistory(
    at address: Address, of type: RecordedType, _ asked: Asked
  ) throws(NotRecording) -> History {
    let counts = try Door.ask(LIFESPAN_ASK_COUNTS).withBytes { $0.rows(of: lifespan_drain_counts.self) }
    var stacks: [UInt32: [ReturnAddress]] = [:]
    var events: [History.Event] = []
    for event in asked.events {
      if stacks[event.stack] == nil { stacks[event.stack] = try backtrace(event.stack) }
      events.append(
        History.Event(event, backtrace: stacks[event.stack] ?? [], perSecond: counts.first?.ticks_per_second ?? 0))
    }
    let count = asked.head.strong < 0 ? nil : Int(asked.head.strong)
    if let count { setCounts(of: &events, last: count) }
    return History(
      serial: Serial(rawValue: asked.head.serial), address: address, type: type.name,
      size: Int(clamping: asked.head.size), retainCount: count, runtimeRetainCount: asked.runtimeCount, events: events,
      dropped: Int(clamping: asked.head.dropped), missing: nil)
  }

  /// By what was recorded, back from the last: of two threads' events at once each saw the count as if the other had not
  /// been, and a load does not see it at all.
  private static func setCounts(of events: inout [History.Event], last: Int) {
    var count = last
    for index in events.indices.reversed() {
      events[index].countAfter = count
      count -= events[index].kind.change
      events[index].countBefore = count
    }
  }

  /// The type of the object that was asked for. nil: the recorder knows of another one only, which lay there before.
  private static func knownType(_ asked: Asked, _ isa: UInt) throws(NotRecording) -> RecordedType? {
    let ends = [LIFESPAN_EVENT_DEATH, LIFESPAN_EVENT_FREE, LIFESPAN_EVENT_PLAIN_FREE].map { $0.rawValue }
    guard asked.head.serial != 0, !asked.events.contains(where: { ends.contains($0.kind) }) else { return nil }
    let type = TypeTable(try Door.ask(LIFESPAN_ASK_TYPES)).types[TypeID(rawValue: asked.head.type)]
    return type?.metadata == UInt64(isa) && type?.isWanted == true ? type : nil
  }

  static func backtrace(_ stack: UInt32) throws(NotRecording) -> [ReturnAddress] {
    guard stack >= LIFESPAN_STACK_FIRST else { return [] }
    return try Door.ask(LIFESPAN_ASK_STACK, address: UInt64(stack)).withBytes { bytes in
      bytes.rows(of: UInt64.self).map { ReturnAddress(rawValue: $0) }
    }
  }
}

// The runtime's own; takes the object as it is, so that asking changes nothing.
@_silgen_name("swift_retainCount") private func swiftRetainCount(_ object: UnsafeRawPointer) -> UInt

private func runtimeCount(_ address: Allocations.Address) -> Int {
  UnsafeRawPointer(bitPattern: UInt(address.rawValue)).map { Int(clamping: swiftRetainCount($0)) } ?? 0
}

extension Allocations.History {
  /// Of an object of which nothing was recorded.
  fileprivate init(_ address: Allocations.Address, _ runtimeCount: Int, missing: Allocations.NotRecording?) {
    self.init(
      serial: nil, address: address, type: nil, size: 0, retainCount: nil, runtimeRetainCount: runtimeCount, events: [],
      dropped: 0, missing: missing)
  }
}

extension Allocations.History.Event {
  init(_ event: lifespan_history_event, backtrace: [Allocations.ReturnAddress], perSecond: UInt64) {
    let amount = Int(event.amount)
    kind = Kind(event, amount: amount)
    let change = kind.change
    let before = event.count_before < 0 ? nil : Int(event.count_before)
    countBefore = kind == .birth ? 0 : before
    countAfter = countBefore.map { $0 + change }
    let isCount = kind == .retain(amount) || kind == .release(amount)
    flavour = Flavour(event, isCount: isCount)
    isInDeinit = isCount && event.flavour & LIFESPAN_REF_DEINITING.rawValue != 0
    let (whole, rest) = event.ticks.quotientAndRemainder(dividingBy: max(perSecond, 1))
    nanoseconds = whole &* 1_000_000_000 &+ UInt64(Double(rest) * 1e9 / Double(max(perSecond, 1)))
    thread = Allocations.ThreadNumber(rawValue: event.thread)
    task = event.task == 0 ? nil : Allocations.TaskNumber(rawValue: event.task)
    self.backtrace = backtrace
  }
}

extension Allocations.History.Event.Kind {
  init(_ event: lifespan_history_event, amount: Int) {
    switch lifespan_event_kind(event.kind) {
    case LIFESPAN_EVENT_BIRTH: self = .birth
    case LIFESPAN_EVENT_RETAIN: self = .retain(amount)
    case LIFESPAN_EVENT_RELEASE: self = .release(amount)
    case LIFESPAN_EVENT_DEINIT_START: self = .deinitBegins
    case LIFESPAN_EVENT_DEINIT: self = .deinitEnded
    case LIFESPAN_EVENT_DEATH: self = .death
    case LIFESPAN_EVENT_FREE, LIFESPAN_EVENT_PLAIN_FREE: self = .free
    case LIFESPAN_EVENT_MOVED: self = .moved
    case LIFESPAN_EVENT_MISUSE: self = .misuse(Allocations.History.Event.Misuse(event.flavour))
    default: self = .other
    }
  }

  /// What it does to the strong count.
  var change: Int {
    switch self {
    case .retain(let amount): amount
    case .release(let amount): -amount
    case .birth: 1
    default: 0
    }
  }
}

extension Allocations.History.Event.Flavour {
  init?(_ event: lifespan_history_event, isCount: Bool) {
    guard isCount else { return nil }
    switch lifespan_refcount_flavour(event.flavour & ~LIFESPAN_REF_DEINITING.rawValue) {
    case LIFESPAN_REF_STRONG: self = .strong
    case LIFESPAN_REF_WEAK_LOAD: self = .weakLoad
    case LIFESPAN_REF_UNOWNED_LOAD: self = .unownedLoad
    case LIFESPAN_REF_TRY: self = .tryRetain
    case LIFESPAN_REF_DEVIRTUALISED: self = .devirtualised
    default: self = .other
    }
  }
}

extension Allocations.History.Event.Misuse {
  init(_ number: UInt32) {
    switch lifespan_misuse(number) {
    case LIFESPAN_MISUSE_RETAIN: self = .retained
    case LIFESPAN_MISUSE_RELEASE: self = .released
    case LIFESPAN_MISUSE_UNOWNED: self = .unownedRead
    case LIFESPAN_MISUSE_ESCAPED: self = .escaped
    case LIFESPAN_MISUSE_BELOW_ZERO: self = .releasedBelowZero
    default: self = .other
    }
  }
}
#endif
