// Where the renderers get the addresses behind a stack's number. TraceStacks answers from a trace; tests have their own.
import LifespanSymbols
import LifespanTrace

/// One stack as recorded: addresses from the innermost, and what keeps it from being whole.
public struct StackTrace: Sendable, Equatable {
  /// From the innermost outwards.
  public let locations: [CodeLocation]
  /// Why it ends where it does, in words; nil when it is whole.
  public let ending: String?

  /// A stack.
  public init(locations: [CodeLocation], ending: String? = nil) {
    self.locations = locations
    self.ending = ending
  }
}

/// Finds the addresses of stacks and closures.
public protocol StackSource {
  /// The stack of that number; empty where nothing was recorded.
  func stack(_ id: StackID) -> StackTrace
  /// The place in an image of an address that was recorded alone.
  func location(of address: ReturnAddress) -> CodeLocation
}
