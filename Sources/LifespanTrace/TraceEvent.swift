// One event as a value: what EventEncoder takes, and what tests, `dump` and slow questions read out of a batch.

/// One event.
public struct TraceEvent: Sendable, Codable, Hashable {
  /// What happened.
  public var kind: EventKind
  /// To which object; nil when its birth is not in the recording.
  public var serial: SerialNumber?
  /// When.
  public var time: Ticks
  /// By which thread.
  public var thread: ThreadID
  /// In which task.
  public var task: TaskID
  /// Births, and moves of what is known: the site (after the move).
  public var site: SiteID?
  /// Births: the generation.
  public var generation: Generation?
  /// Where the object lies after the event; nil when not known.
  public var address: ObjectAddress?
  /// The event's own stack. Births: nil takes the site's.
  public var stack: StackID?
  /// Retains and releases: how much.
  public var amount: EventAmount?

  /// Memberwise.
  public init(
    _ kind: EventKind, serial: SerialNumber?, time: Ticks, thread: ThreadID = .main, task: TaskID = .none,
    site: SiteID? = nil, generation: Generation? = nil, address: ObjectAddress? = nil, stack: StackID? = nil,
    amount: EventAmount? = nil
  ) {
    self.kind = kind
    self.serial = serial
    self.time = time
    self.thread = thread
    self.task = task
    self.site = site
    self.generation = generation
    self.address = address
    self.stack = stack
    self.amount = amount
  }
}

extension EventBatch {
  /// One event of a batch that was decoded with every column.
  public func event(_ index: Int) -> TraceEvent {
    let kind = kind(index)
    let isBirth = kind == .birth
    let hasSite = isBirth || (kind == .moved && objects[index] >= 0)
    let hasStack = kinds[index] & 0x40 != 0
    let hasAmount = kinds[index] & 0x80 != 0
    return TraceEvent(
      kind, serial: serials[index] == 0 ? nil : SerialNumber(serials[index]), time: Ticks(times[index]),
      thread: ThreadID(threads[index]), task: TaskID(tasks[index]), site: hasSite ? SiteID(sites[index]) : nil,
      generation: isBirth ? Generation(generations[index]) : nil,
      address: addresses[index] == 0 ? nil : ObjectAddress(addresses[index]),
      stack: hasStack ? StackID(stacks[index]) : nil, amount: hasAmount ? amounts[index] : nil)
  }
}
