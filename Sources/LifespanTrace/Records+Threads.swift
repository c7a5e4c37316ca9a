// The rows of the chunks about the process beside its objects: THREADS, THREAD_ORIGINS, SAMPLES. Read by Trace and `dump`.

/// What a row of a THREADS chunk tells.
public struct ThreadOp: TraceIdentifier {
  /// The number in the file.
  public let rawValue: UInt8
  /// Wraps a number.
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// The thread came.
  public static let seen = ThreadOp(1)
  /// It has another name.
  public static let renamed = ThreadOp(2)
  /// It has ended: said by itself, exact.
  public static let ended = ThreadOp(3)
  /// It was found to be gone, a moment after it went.
  public static let gone = ThreadOp(4)
}

/// A row of a THREADS chunk: a thread was first seen or renamed, or has ended.
public struct ThreadRecord: Sendable, Codable, Hashable {
  /// Its number.
  public var thread: ThreadID
  /// The kernel's id.
  public var tid: UInt32
  /// What happened.
  public var op: ThreadOp
  /// When.
  public var time: Ticks
  /// Its name then; of an end empty where it is not said.
  public var name: String
  /// Memberwise.
  public init(thread: ThreadID, tid: UInt32, op: ThreadOp = .seen, time: Ticks = Ticks(0), name: String) {
    self.thread = thread
    self.tid = tid
    self.op = op
    self.time = time
    self.name = name
  }
}

/// A row of a THREAD_ORIGINS chunk: who made a thread, and for what.
public struct ThreadOriginRecord: Sendable, Codable, Hashable {
  /// The thread that was made.
  public var thread: ThreadID
  /// The thread that made it; unknown where the recorder does not know it.
  public var creator: ThreadID
  /// Where it was made.
  public var stack: StackID
  /// The address of its start routine: the function itself, no return address.
  public var start: UInt64
  /// When it was made.
  public var time: Ticks
  /// Bytes of address space reserved for its stack; 0 not known.
  public var stackBytes: UInt64
  /// Memberwise.
  public init(
    thread: ThreadID, creator: ThreadID = .unknown, stack: StackID = .none, start: UInt64 = 0, time: Ticks = Ticks(0),
    stackBytes: UInt64 = 0
  ) {
    self.thread = thread
    self.creator = creator
    self.stack = stack
    self.start = start
    self.time = time
    self.stackBytes = stackBytes
  }
}

/// A row of a SAMPLES chunk: what the system held for the process at a moment, and what lived then.
public struct SampleRecord: Sendable, Codable, Hashable {
  /// When.
  public var time: Ticks
  /// 1 taken at a mark, 2 at the program's end, 4 the heap's pages were counted.
  public var flags: UInt64
  /// Resident bytes of the process, with the recorder's own.
  public var resident: ByteCount
  /// Those of them that belong to no file.
  public var anonymous: ByteCount
  /// Bytes of the process in swap.
  public var swapped: ByteCount
  /// Resident bytes of the pages in which blocks of the heap have lain.
  public var heapResident: ByteCount
  /// Those of such pages in swap.
  public var heapSwapped: ByteCount
  /// Living blocks of the heap, as far as they are recorded.
  public var livingCount: UInt64
  /// Their bytes as asked for.
  public var livingBytes: ByteCount
  /// Their bytes as the C library's allocator hands them out: with its header, rounded.
  public var livingFootprint: ByteCount

  /// Memberwise, nothing known by default.
  public init(
    time: Ticks, flags: UInt64 = 0, resident: ByteCount = .zero, anonymous: ByteCount = .zero,
    swapped: ByteCount = .zero, heapResident: ByteCount = .zero, heapSwapped: ByteCount = .zero,
    livingCount: UInt64 = 0, livingBytes: ByteCount = .zero, livingFootprint: ByteCount = .zero
  ) {
    self.time = time
    self.flags = flags
    self.resident = resident
    self.anonymous = anonymous
    self.swapped = swapped
    self.heapResident = heapResident
    self.heapSwapped = heapSwapped
    self.livingCount = livingCount
    self.livingBytes = livingBytes
    self.livingFootprint = livingFootprint
  }

  /// Taken at a mark.
  public var isAtMark: Bool { flags & 1 != 0 }
  /// Taken when the program ended by itself.
  public var isAtEnd: Bool { flags & 2 != 0 }
  /// The heap's pages were counted: `heapResident` and `heapSwapped` are known.
  public var knowsHeap: Bool { flags & 4 != 0 }
}
