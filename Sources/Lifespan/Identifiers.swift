// Numbers and addresses that mean something, as types of their own. Used by History and its frames.

extension Allocations {
  /// An address of an object: a number, nothing to read from.
  public struct Address: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The address.
    public let rawValue: UInt64

    /// An address by its number.
    public init(rawValue: UInt64) {
      self.rawValue = rawValue
    }

    /// In hexadecimal, as `lifespan history` takes it: `0x7f…`.
    public var description: String { "0x" + String(rawValue, radix: 16) }
  }

  /// An object's number in the recording, unique in it; the command line writes it `@12`.
  public struct Serial: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The number, from 1.
    public let rawValue: UInt64

    /// A serial by its number.
    public init(rawValue: UInt64) {
      self.rawValue = rawValue
    }

    /// As the command line takes it: `@12`.
    public var description: String { "@\(rawValue)" }
  }

  /// A thread's number in the recording; never used again after the thread's end, as kernel ids are.
  public struct ThreadNumber: RawRepresentable, Hashable, Sendable {
    /// The number, from 1.
    public let rawValue: UInt32

    /// A thread by its number.
    public init(rawValue: UInt32) {
      self.rawValue = rawValue
    }
  }

  /// A task's id, as the Swift runtime gives it.
  public struct TaskNumber: RawRepresentable, Hashable, Sendable {
    /// The id.
    public let rawValue: UInt64

    /// A task by its id.
    public init(rawValue: UInt64) {
      self.rawValue = rawValue
    }
  }
}
