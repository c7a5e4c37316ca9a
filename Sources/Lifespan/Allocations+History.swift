// The history of one object, as the recorder still holds it.
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
    do {
      return try recordedHistory(at: address, isa: unsafeBitCast(type(of: object) as AnyClass, to: UInt.self))
    } catch {
      return History(serial: nil, address: address, type: nil, size: 0, events: [], dropped: 0, missing: error)
    }
  }

  private static func recordedHistory(at address: Address, isa: UInt) throws(NotRecording) -> History {
    let answer = try Door.ask(LIFESPAN_ASK_HISTORY, address: address.rawValue).withBytes { bytes in
      let size = MemoryLayout<lifespan_history_head>.stride
      guard bytes.count >= size else { return (head: lifespan_history_head(), events: [lifespan_history_event]()) }
      let events = UnsafeRawBufferPointer(rebasing: bytes[size...]).rows(of: lifespan_history_event.self)
      return (head: bytes.loadUnaligned(as: lifespan_history_head.self), events: events)
    }
    guard let type = try knownType(answer.head, answer.events.last, isa) else {
      return History(serial: nil, address: address, type: nil, size: 0, events: [], dropped: 0, missing: nil)
    }
    let counts = try Door.ask(LIFESPAN_ASK_COUNTS).withBytes { $0.rows(of: lifespan_drain_counts.self) }
    var stacks: [UInt32: [ReturnAddress]] = [:]
    var events: [History.Event] = []
    for event in answer.events {
      if stacks[event.stack] == nil { stacks[event.stack] = try backtrace(event.stack) }
      events.append(
        History.Event(event, backtrace: stacks[event.stack] ?? [], perSecond: counts.first?.ticks_per_second ?? 0))
    }
    return History(
      serial: Serial(rawValue: answer.head.serial), address: address, type: type.name,
      size: Int(clamping: answer.head.size), events: events, dropped: Int(clamping: answer.head.dropped), missing: nil)
  }

  /// The type of the object that was asked for. nil: the recorder knows of another one only, which lay there before.
  private static func knownType(
    _ head: lifespan_history_head, _ last: lifespan_history_event?, _ isa: UInt
  ) throws(NotRecording) -> RecordedType? {
    guard head.serial != 0, last?.kind != LIFESPAN_EVENT_DEATH.rawValue, last?.kind != LIFESPAN_EVENT_FREE.rawValue
    else { return nil }
    let type = TypeTable(try Door.ask(LIFESPAN_ASK_TYPES)).types[TypeID(rawValue: head.type)]
    return type?.metadata == UInt64(isa) && type?.isWanted == true ? type : nil
  }

  private static func backtrace(_ stack: UInt32) throws(NotRecording) -> [ReturnAddress] {
    guard stack >= LIFESPAN_STACK_FIRST else { return [] }
    return try Door.ask(LIFESPAN_ASK_STACK, address: UInt64(stack)).withBytes { bytes in
      bytes.rows(of: UInt64.self).map { ReturnAddress(rawValue: $0) }
    }
  }
}

extension Allocations.History.Event {
  init(_ event: lifespan_history_event, backtrace: [Allocations.ReturnAddress], perSecond: UInt64) {
    let amount = Int(event.amount)
    kind = Kind(event, amount: amount)
    var change = 0
    switch kind {
    case .retain: change = amount
    case .release: change = -amount
    case .birth: change = 1
    default: break
    }
    let before = event.count_before < 0 ? nil : Int(event.count_before)
    countBefore = kind == .birth ? 0 : before
    countAfter = countBefore.map { $0 + change }
    flavour = Flavour(event, isCount: kind == .retain(amount) || kind == .release(amount))
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
    default: self = .other
    }
  }
}

extension Allocations.History.Event.Flavour {
  init?(_ event: lifespan_history_event, isCount: Bool) {
    guard isCount else { return nil }
    switch lifespan_refcount_flavour(event.flavour) {
    case LIFESPAN_REF_STRONG: self = .strong
    case LIFESPAN_REF_WEAK_LOAD: self = .weakLoad
    case LIFESPAN_REF_UNOWNED_LOAD: self = .unownedLoad
    case LIFESPAN_REF_TRY: self = .tryRetain
    case LIFESPAN_REF_DEVIRTUALISED: self = .devirtualised
    default: self = .other
    }
  }
}
