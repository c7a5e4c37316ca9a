// The same interface where the package is built without its trait Recording: nothing is recorded, nothing is linked, and every call is
// an empty body in its caller. What throws a number says why there is none.
#if !Recording

extension Allocations {
  /// Does nothing: this program was built without the package trait `Recording`. It runs on.
  ///
  /// - Returns: partial, with that reason.
  @inlinable @discardableResult
  public static func start(
    recording: Recording, _ rules: [Rule] = [], referenceCounts: Bool = false, historyEvents: Int = 65_536
  ) throws(StartError) -> Capture {
    .partial(reason: "built without the package trait Recording: nothing is recorded")
  }

  /// Does nothing.
  @inlinable public static func stop() {}
  /// Nothing is recorded.
  @inlinable public static var capture: Capture? { nil }
  /// Does nothing.
  @inlinable public static func track(_ type: AnyClass) {}

  /// A mark that knows that nothing is recorded.
  @inlinable @discardableResult
  public static func markGeneration(_ name: String? = nil) -> Mark { Mark(unrecorded: name) }

  /// Throws ``NotRecording/Reason/builtWithout``.
  @inlinable public static func liveCount(of type: AnyClass) throws(NotRecording) -> Int {
    throw NotRecording(.builtWithout)
  }
  /// Throws ``NotRecording/Reason/builtWithout``.
  @inlinable public static func liveCount(ofToken name: String) throws(NotRecording) -> Int {
    throw NotRecording(.builtWithout)
  }
  /// Throws ``NotRecording/Reason/builtWithout``.
  @inlinable public static func statistics(_ filter: LifespanFilter = .living) throws(NotRecording) -> [StatisticsRow] {
    throw NotRecording(.builtWithout)
  }
  /// Throws ``NotRecording/Reason/builtWithout``.
  @inlinable public static func growth(since mark: Mark) throws(NotRecording) -> Growth {
    throw NotRecording(.builtWithout)
  }
  /// Without events.
  @inlinable public static func history(of object: AnyObject) -> History { History(unrecorded: .builtWithout) }
  /// Throws ``HeapError/notRecording(_:)``.
  @inlinable public static func leaks() throws(HeapError) -> LeakReport {
    throw .notRecording(NotRecording(.builtWithout))
  }
  /// Throws ``HeapError/notRecording(_:)``.
  @inlinable public static func holders(of object: AnyObject) throws(HeapError) -> HolderReport {
    throw .notRecording(NotRecording(.builtWithout))
  }
  /// Throws ``SaveError/notRecording(_:)``.
  @inlinable public static func save(to path: String) throws(SaveError) {
    throw .notRecording(NotRecording(.builtWithout))
  }

  /// Does nothing.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @inlinable public static func expectRelease(of object: AnyObject, within: Duration, reason: String) {}
  /// Does nothing.
  @inlinable public static func expectedToLive(_ type: any AnyObject.Type, reason: String) {}
  /// Does nothing.
  @inlinable public static func expectedToLive(_ object: AnyObject, reason: String) {}
  /// Does nothing.
  @inlinable public static func expectedToLive(matching pattern: String, reason: String) {}
  /// Nothing is watched.
  @inlinable public static var survivorsExpectedToLive: [String: Int] { [:] }
  /// Does nothing.
  @inlinable public static func maxLiveCount(of types: Types, _ limit: Int) {}
  /// Does nothing.
  @inlinable public static func maxLiveCount(of type: any AnyObject.Type, _ limit: Int) {}
  /// Does nothing.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @inlinable public static func handleFindings(_ handler: FindingHandler, lookingForHolders: Bool? = nil) {}

  /// Runs the body.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @inlinable public static func withScope<Value, Failure: Error>(
    _ name: String, of types: Types, expectReleasedWithin within: Duration, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value { try body() }

  /// Runs the body.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  @inlinable public static func withScope<Value, Failure: Error>(
    _ name: String, of types: Types, expectReleasedWithin within: Duration,
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value { try await body() }

  /// Runs the body.
  @inlinable @discardableResult
  public static func roundTrip<Failure: Error>(
    of types: Types = .all, _ body: () throws(Failure) -> Void
  ) throws(Failure) -> RoundTrip {
    try body()
    return RoundTrip(unrecorded: .builtWithout)
  }

  /// Runs the body.
  @inlinable @discardableResult
  public static func roundTrip<Failure: Error>(
    of types: Types = .all, isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Void
  ) async throws(Failure) -> RoundTrip {
    try await body()
    return RoundTrip(unrecorded: .builtWithout)
  }

  /// Counts nothing here.
  public final class Token: Sendable {
    /// The name by which its values would be counted.
    public let name: String

    /// Keeps the name.
    @inlinable public init(_ name: String, bytes: Int = 0) { self.name = name }
  }
}

extension Allocations.ReturnAddress {
  /// Nothing is known of any address here.
  @inlinable public func symbol() -> Symbol? { nil }
}
#endif

extension Allocations.History {
  /// Of an object of which nothing is recorded.
  @usableFromInline init(unrecorded reason: Allocations.NotRecording.Reason) {
    self.init(
      serial: nil, address: Allocations.Address(rawValue: 0), type: nil, size: 0, retainCount: nil,
      runtimeRetainCount: 0,
      events: [], dropped: 0, missing: Allocations.NotRecording(reason))
  }
}

extension Allocations.RoundTrip {
  /// Of a round in which nothing was recorded.
  @usableFromInline init(unrecorded reason: Allocations.NotRecording.Reason) {
    self.init(suspects: [], missing: Allocations.NotRecording(reason))
  }
}
