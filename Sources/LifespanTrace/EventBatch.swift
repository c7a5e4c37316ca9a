// A stretch of decoded events in columns: what EventDecoder fills and the analysis loops over.

/// Which columns of the events a pass wants. Kinds, objects and sites are always there.
public struct EventColumns: OptionSet, Sendable, Hashable {
  /// The bits.
  public let rawValue: Int
  /// Wraps bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// Times.
  public static let times = EventColumns(rawValue: 1)
  /// Threads.
  public static let threads = EventColumns(rawValue: 2)
  /// Tasks.
  public static let tasks = EventColumns(rawValue: 4)
  /// Generations of births.
  public static let generations = EventColumns(rawValue: 8)
  /// Addresses. The costly one: the reader keeps the address of everything that lives.
  public static let addresses = EventColumns(rawValue: 16)
  /// Stacks.
  public static let stacks = EventColumns(rawValue: 32)
  /// Amounts of retains and releases.
  public static let amounts = EventColumns(rawValue: 64)
  /// Sites after a move. Needs no addresses.
  public static let moves = EventColumns(rawValue: 128)
  /// Serials.
  public static let serials = EventColumns(rawValue: 256)
  /// All of them.
  public static let all = EventColumns(rawValue: 511)
}

/// What an event is.
public struct EventKind: TraceIdentifier {
  /// The number in the file.
  public let rawValue: UInt8
  /// Wraps a number.
  @inlinable
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// An object was born.
  public static let birth = EventKind(1)
  /// Its deinit ended and its memory was freed at once.
  public static let death = EventKind(2)
  /// Its deinit ended, unowned references keep the memory.
  public static let deinitEnded = EventKind(3)
  /// Such memory was freed.
  public static let free = EventKind(4)
  /// A living object was freed by plain `free()`.
  public static let plainFree = EventKind(5)
  /// Retained.
  public static let retain = EventKind(6)
  /// Released.
  public static let release = EventKind(7)
  /// Its deinit begins.
  public static let deinitBegins = EventKind(8)
  /// realloc moved or resized it, or its type is known now: it belongs to another site.
  public static let moved = EventKind(9)
  /// Its address was used again without a death.
  public static let endNotSeen = EventKind(10)
  /// It was referred to after its deinit; the amount's flavour says how.
  public static let misuse = EventKind(11)
}

/// How much a retain or release changes.
public struct EventAmount: Sendable, Codable, Hashable, BitwiseCopyable {
  /// 0 strong, 1 weak load, 2 unowned load, 3 try, 4 devirtualised; 128 more: in the object's deinit. Misuses: 1 retained, 2 released, 3 unowned
  /// reference read, each after its deinit; 4 escaped from it; 5 released in it more often than retained.
  public var flavour: UInt8
  /// By how much.
  public var amount: UInt32
  /// The strong count before; nil where it is not known.
  public var countBefore: UInt32?
  /// Memberwise.
  public init(flavour: UInt8 = 0, amount: UInt32 = 1, countBefore: UInt32? = nil) {
    self.flavour = flavour
    self.amount = amount
    self.countBefore = countBefore
  }
}

/// Up to `EventBatch.capacity` events, a pointer a column. Owned by the decoder: valid until it decodes the next batch.
/// A column that was not asked for has unspecified content.
public struct EventBatch {
  /// Events in a batch at most: its columns stay in the second-level cache.
  public static let capacity = 4096
  /// What `objects` holds for an object that is known by its address at most. One whose serial is known, but not its
  /// birth, has −2.
  public static let unknownObject = -1

  /// Events in this batch.
  public internal(set) var count = 0
  /// Index of its first event in the recording.
  public internal(set) var firstIndex: UInt64 = 0
  /// Which kinds occur, a bit each, and `unknownObjects`.
  var seen: UInt64 = 0
  /// A bit that no kind has, as kinds have six: objects without a birth occur.
  static let unknownObjects: UInt64 = 1 << 63

  /// Whether events of that kind occur in it.
  public func holds(_ kind: EventKind) -> Bool { seen &>> UInt64(kind.rawValue & 0x3f) & 1 != 0 }
  /// Whether events occur in it of objects whose birth is not in the file.
  public var holdsUnknown: Bool { seen & EventBatch.unknownObjects != 0 }

  /// The kinds as they stand in the file: low six bits the kind, bit 6 a stack, bit 7 an amount.
  public internal(set) var kinds: UnsafePointer<UInt8>
  /// The object: its birth's position among the births of the file, from 0; negative when its birth is not in the
  /// file.
  public let objects: UnsafePointer<Int>
  /// Births, and moves of what is known: the site's number (after the move), always within the table.
  public let sites: UnsafePointer<UInt32>
  /// Ticks since the start.
  public let times: UnsafePointer<Int64>
  /// Thread numbers.
  public let threads: UnsafePointer<UInt32>
  /// Task ids.
  public let tasks: UnsafePointer<UInt64>
  /// Births: the generation. Others: the generation that was open at their position.
  public let generations: UnsafePointer<UInt32>
  /// The object's address after the event; 0 not known.
  public let addresses: UnsafePointer<UInt64>
  /// The event's own stack; births without one: their site's.
  public let stacks: UnsafePointer<UInt32>
  /// Retains and releases: how much; one strong reference where the file says nothing. Others: amount 0.
  public let amounts: UnsafePointer<EventAmount>
  /// The object's serial; 0 not known.
  public let serials: UnsafePointer<UInt64>

  /// The kind of one event.
  @inlinable @inline(__always)
  public func kind(_ index: Int) -> EventKind { EventKind(kinds[index] & 0x3f) }
}
