// The rows of every chunk kind but EVENTS, as values. Read by Trace and `dump`, written by TraceWriter.

/// A pair of an INFO chunk. A later value replaces an earlier one.
public struct InfoRecord: Sendable, Codable, Hashable {
  /// `program`, `arguments`, `capture`, …: TraceFormat.md lists them.
  public var key: String
  /// Its value.
  public var value: String
  /// Memberwise.
  public init(key: String, value: String) {
    self.key = key
    self.value = value
  }
}

/// A row of an IMAGES chunk: an image was loaded or unloaded.
public struct ImageRecord: Sendable, Codable, Hashable {
  /// Its number.
  public var id: ImageID
  /// Loaded, or unloaded.
  public var isLoad: Bool
  /// The load map's state that this made.
  public var epoch: Epoch
  /// Address in memory − address in the file.
  public var bias: UInt64
  /// First address.
  public var start: UInt64
  /// The address after the last.
  public var end: UInt64
  /// The GNU build id's bytes; empty without one.
  public var buildID: [UInt8]
  /// Where the file lay.
  public var path: String
  /// Memberwise.
  public init(
    id: ImageID, isLoad: Bool = true, epoch: Epoch, bias: UInt64, start: UInt64, end: UInt64, buildID: [UInt8] = [],
    path: String
  ) {
    self.id = id
    self.isLoad = isLoad
    self.epoch = epoch
    self.bias = bias
    self.start = start
    self.end = end
    self.buildID = buildID
    self.path = path
  }
}

/// Why a stack ends where it ends.
public struct StackEnd: TraceIdentifier {
  /// The number in the file.
  public let rawValue: UInt8
  /// Wraps a number.
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// It reached the outermost frame.
  public static let whole = StackEnd(0)
  /// It is deeper than the recording's limit.
  public static let cut = StackEnd(1)
  /// No unwind information for the next frame.
  public static let noRow = StackEnd(2)
  /// The next frame lies in no known image.
  public static let noImage = StackEnd(3)
  /// The next frame would lie outside the thread's stack.
  public static let outOfRange = StackEnd(4)
  /// The thread ran on a stack that is not its own.
  public static let foreign = StackEnd(5)
  /// It went on through async contexts to the first one.
  public static let asyncComplete = StackEnd(6)
}

/// A row of a STACKS chunk: one frame, its parent is its caller.
public struct StackNode: Sendable, Codable, Hashable {
  /// Its number.
  public var id: StackID
  /// Its caller's frame; 0 = none.
  public var parent: StackID
  /// Where it returns to.
  public var pc: ReturnAddress
  /// The load map's state when it was seen.
  public var epoch: Epoch
  /// Of a frame without parent: why the stack ends there.
  public var end: StackEnd
  /// Memberwise.
  public init(
    id: StackID, parent: StackID = .none, pc: ReturnAddress, epoch: Epoch = Epoch(0), end: StackEnd = .whole
  ) {
    self.id = id
    self.parent = parent
    self.pc = pc
    self.epoch = epoch
    self.end = end
  }
}

/// A row of a TYPES chunk.
public struct TypeRecord: Sendable, Codable, Hashable {
  /// Its number.
  public var id: TypeID
  /// What its objects are.
  public var kind: ObjectKind
  /// Its superclass; 0 = none.
  public var superclass: TypeID
  /// Address of its metadata.
  public var metadata: UInt64
  /// Size of an instance; 0 not known.
  public var instanceSize: UInt64
  /// Closures: a return address in the function that makes them; else 0.
  public var caller: ReturnAddress
  /// 1: refcounts are recorded; 2 tracked; 4 holds one captured value; 8 tracked after objects of it were born.
  public var flags: UInt64
  /// The runtime's own name; empty for closures.
  public var name: String
  /// Memberwise.
  public init(
    id: TypeID, kind: ObjectKind = .classInstance, superclass: TypeID = TypeID(0), metadata: UInt64 = 0,
    instanceSize: UInt64 = 0, caller: ReturnAddress = ReturnAddress(0), flags: UInt64 = 0, name: String
  ) {
    self.id = id
    self.kind = kind
    self.superclass = superclass
    self.metadata = metadata
    self.instanceSize = instanceSize
    self.caller = caller
    self.flags = flags
    self.name = name
  }
  /// Retains and releases of its objects are recorded.
  public var isTracked: Bool { flags & 1 != 0 }
  /// Only since objects of it had been born.
  public var isTrackedLate: Bool { flags & 8 != 0 }
  /// A closure's context that holds one value: the compiler lays its boxes out in the same way.
  public var mayBeBox: Bool { flags & 4 != 0 }
}

/// A row of a SITES chunk: what, where and how large births are.
public struct SiteRecord: Sendable, Codable, Hashable {
  /// The type.
  public var type: TypeID
  /// The stack.
  public var stack: StackID
  /// Bytes of each.
  public var size: ByteCount
  /// Memberwise.
  public init(type: TypeID, stack: StackID, size: ByteCount) {
    self.type = type
    self.stack = stack
    self.size = size
  }
}

/// A row of a MARKS chunk.
public struct MarkRecord: Sendable, Codable, Hashable {
  /// The generation that it closes.
  public var closes: Generation
  /// Its exact stamp.
  public var time: Ticks
  /// Index of the first event after it.
  public var firstEvent: UInt64
  /// Its name; empty: by letters.
  public var name: String
  /// Memberwise.
  public init(closes: Generation, time: Ticks, firstEvent: UInt64, name: String = "") {
    self.closes = closes
    self.time = time
    self.firstEvent = firstEvent
    self.name = name
  }
}

/// A row of a GAPS chunk: events that were lost.
public struct GapRecord: Sendable, Codable, Hashable {
  /// Which thread's; unknown for all.
  public var thread: ThreadID
  /// From.
  public var from: Ticks
  /// To.
  public var to: Ticks
  /// Births lost.
  public var births: UInt64
  /// Deaths lost.
  public var deaths: UInt64
  /// Others lost.
  public var others: UInt64
  /// 1 ring full, 2 no ring, 3 suppressed, 4 recorder died, 5 damaged record.
  public var reason: UInt64
  /// Memberwise.
  public init(
    thread: ThreadID, from: Ticks, to: Ticks, births: UInt64 = 0, deaths: UInt64 = 0, others: UInt64 = 0,
    reason: UInt64
  ) {
    self.thread = thread
    self.from = from
    self.to = to
    self.births = births
    self.deaths = deaths
    self.others = others
    self.reason = reason
  }
}

/// A row of a TASKS chunk.
public struct TaskRecord: Sendable, Codable, Hashable {
  /// The task.
  public var id: TaskID
  /// Its parent; 0 none or unknown.
  public var parent: TaskID
  /// Memberwise.
  public init(id: TaskID, parent: TaskID = .none) {
    self.id = id
    self.parent = parent
  }
}

/// A row of a TOTALS chunk: objects that died and whose events are not in the file.
public struct TotalRecord: Sendable, Codable, Hashable {
  /// Their type.
  public var type: TypeID
  /// The generation that they were born in.
  public var generation: Generation
  /// How many.
  public var births: UInt64
  /// Their bytes.
  public var bytes: UInt64
  /// Memberwise.
  public init(type: TypeID, generation: Generation, births: UInt64, bytes: UInt64) {
    self.type = type
    self.generation = generation
    self.births = births
    self.bytes = bytes
  }
}

/// A row of a RECORDING chunk: the recording was paused or goes on.
public struct RecordingRecord: Sendable, Codable, Hashable {
  /// When.
  public var time: Ticks
  /// Goes on, or is paused.
  public var goesOn: Bool
  /// Memberwise.
  public init(time: Ticks, goesOn: Bool) {
    self.time = time
    self.goesOn = goesOn
  }
}

/// A counter of the END chunk.
public struct EndRecord: Sendable, Codable, Hashable {
  /// `events`, `births`, `lost`, …: TraceFormat.md lists them.
  public var key: String
  /// Its value.
  public var value: UInt64
  /// Memberwise.
  public init(key: String, value: UInt64) {
    self.key = key
    self.value = value
  }
}
