// The ids, addresses and amounts of a trace, each a type of its own, so that none is taken for another.
// Used by everything right of the line: reader, analysis, symbols, reports.

/// An id or an amount of a trace: a number that is not to be mixed up with another kind of number.
public protocol TraceIdentifier: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible
where RawValue: FixedWidthInteger & Codable & Sendable {
  /// Wraps a number. Never fails.
  init(rawValue: RawValue)
}

extension TraceIdentifier {
  /// Wraps a number.
  @inlinable
  public init(_ number: RawValue) { self.init(rawValue: number) }
  /// By number.
  @inlinable
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  /// The bare number, decimal.
  public var description: String { String(rawValue) }
}

/// The number of an object's birth in the recording, from 1. Never reused.
public struct SerialNumber: TraceIdentifier {
  /// The number, from 1.
  public let rawValue: UInt64
  /// Wraps a number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// A type as the recorder numbered it. 0 is no type.
public struct TypeID: TraceIdentifier {
  /// The recorder's number.
  public let rawValue: UInt32
  /// Wraps a number.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// A node of the stack tree: the innermost frame of a stack, its callers are its parents.
public struct StackID: TraceIdentifier {
  /// The node's number.
  public let rawValue: UInt32
  /// Wraps a number.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  /// No stack was recorded.
  public static let none = StackID(0)
  /// The stack table was full: a stack was there, it could not be kept.
  public static let tableFull = StackID(1)
  /// The first number that is a node.
  public static let firstNode = StackID(2)
  /// Whether the id names a node of the tree.
  public var isNode: Bool { rawValue >= StackID.firstNode.rawValue }
}

/// A thread's number in the recording, 1 = main, 0 = not known. Never reused (the kernel's ids are).
public struct ThreadID: TraceIdentifier {
  /// The number, from 1.
  public let rawValue: UInt32
  /// Wraps a number.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  /// Not known.
  public static let unknown = ThreadID(0)
  /// The main thread.
  public static let main = ThreadID(1)
}

/// A Swift task's id as the runtime gives it. 0 = no task.
public struct TaskID: TraceIdentifier {
  /// The runtime's number.
  public let rawValue: UInt64
  /// Wraps a number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  /// Outside any task.
  public static let none = TaskID(0)
}

/// An image (executable or shared library) of the load map.
public struct ImageID: TraceIdentifier {
  /// The recorder's number.
  public let rawValue: UInt32
  /// Wraps a number.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// A state of the load map: it goes up with every image loaded or unloaded.
public struct Epoch: TraceIdentifier {
  /// The number of changes before.
  public let rawValue: UInt32
  /// Wraps a number.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  /// After every change.
  public static let newest = Epoch(UInt32.max)
}

/// A birth site: a (type, stack, size) triple, numbered from 0 in the order of the file.
public struct SiteID: TraceIdentifier {
  /// The number, from 0.
  public let rawValue: UInt32
  /// Wraps a number.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
}

/// Which stretch between marks an object was born in: 0 before the first mark. Mark number n closes generation n.
public struct Generation: TraceIdentifier {
  /// The number, from 0.
  public let rawValue: UInt32
  /// Wraps a number.
  public init(rawValue: UInt32) { self.rawValue = rawValue }
  /// What an unnamed mark is called: A, B, … Z, AA, AB, …
  public var letters: String {
    var text: [UInt8] = []
    var rest = UInt64(rawValue) + 1
    while rest > 0 {
      rest -= 1
      text.append(UInt8(65 + rest % 26))
      rest /= 26
    }
    return String(decoding: text.reversed(), as: UTF8.self)
  }
}

/// An object's address in the recorded process. Not a pointer: the memory is another process's, or long gone.
public struct ObjectAddress: TraceIdentifier {
  /// The address.
  public let rawValue: UInt64
  /// Wraps an address.
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  /// Hexadecimal with 0x.
  public var description: String { "0x" + String(rawValue, radix: 16) }
}

/// A return address: the instruction after a call. Not a pointer.
public struct ReturnAddress: TraceIdentifier {
  /// The address, as it stood on the stack.
  public let rawValue: UInt64
  /// Wraps an address.
  public init(rawValue: UInt64) { self.rawValue = rawValue }
  /// Inside the call instruction: what to look up. The return address itself may be the next function's first byte.
  public var lookup: UInt64 { rawValue == 0 ? 0 : rawValue - 1 }
  /// Hexadecimal with 0x.
  public var description: String { "0x" + String(rawValue, radix: 16) }
}

/// A number of bytes, or a difference of two.
public struct ByteCount: TraceIdentifier, AdditiveArithmetic {
  /// The number.
  public let rawValue: Int64
  /// Wraps a number.
  public init(rawValue: Int64) { self.rawValue = rawValue }
  /// No bytes.
  public static let zero = ByteCount(Int64(0))
  /// The sum; wraps around instead of trapping, as sizes come out of files.
  public static func + (left: ByteCount, right: ByteCount) -> ByteCount { ByteCount(left.rawValue &+ right.rawValue) }
  /// The difference; wraps around instead of trapping.
  public static func - (left: ByteCount, right: ByteCount) -> ByteCount { ByteCount(left.rawValue &- right.rawValue) }
}

/// A time of the trace's own clock: ticks since its start. Negative for what was stamped before the start was.
public struct Ticks: TraceIdentifier {
  /// Ticks since the start.
  public let rawValue: Int64
  /// Wraps a number.
  public init(rawValue: Int64) { self.rawValue = rawValue }
}

/// A time as reports give it: nanoseconds since the start of the recording.
public struct TraceTime: TraceIdentifier {
  /// Nanoseconds since the start.
  public let rawValue: Int64
  /// Wraps a number.
  public init(rawValue: Int64) { self.rawValue = rawValue }
  /// The start of the recording.
  public static let start = TraceTime(Int64(0))
}
