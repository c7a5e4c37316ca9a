// Watching: objects that must die by a time, and what is told where they don't. Its engine is Watching/Watcher.
#if Recording
internal import CLinkedDoor

extension Allocations {
  /// Says that an object is expected to be released. Where it lives when the time is over, that is told: by a line on stderr, or as
  /// ``handleFindings(_:lookingForHolders:)`` says.
  ///
  /// ```swift
  /// Allocations.expectRelease(of: session, within: .seconds(2), reason: "logged out")
  /// ```
  ///
  /// The object is held weakly. With it are expected to die the objects that its stored properties hold and nobody else does or, where
  /// this process records itself, that were made after it; and those that it names itself as a ``ManagedLifetime``. What variables hold
  /// is followed where it is recorded; of arrays, constants are. Of a family of survivors the topmost is told, the others are counted with it.
  ///
  /// An object that lives when its time is over is looked at once more after half of that time (10 to 500 ms), as a thread may just be
  /// letting it go. One that dies after it was told is withdrawn, with how late it was.
  ///
  /// Nothing need be recorded. Where it is, the stack that allocated the object and its references are told, too, and who holds it where
  /// ``handleFindings(_:lookingForHolders:)`` says so. In a process that was forked from one that watches, and on other systems than Linux with glibc on x86-64, nothing is watched.
  ///
  /// - Parameters:
  ///   - object: any object. For a moment at each look it is held strongly: should that be the last reference, it dies on the watching thread.
  ///   - within: counted from this call.
  ///   - reason: what has just happened; it stands in the message.
  ///
  /// Cost: a weak reference, 1 to 1.5 µs; 2 to 2.4 µs where all objects are recorded; with two children 2 and 3.2 to 5.4 µs, 7 µs where all
  /// retains and releases are recorded, too; more for the first object of a class. One thread for all, which sleeps until the first time that is over.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func expectRelease(of object: AnyObject, within: Duration, reason: String) {
    Watcher.expect(object, within.nanoseconds, reason)
  }

  /// Objects of a class, and of its subclasses, may live on: they are not told as survivors, only counted under their reason.
  public static func expectedToLive(_ type: any AnyObject.Type, reason: String) {
    _ = Watcher.withRules { $0.types[ObjectIdentifier(type)] = reason }
  }

  /// This object may live on.
  public static func expectedToLive(_ object: AnyObject, reason: String) {
    let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    _ = Watcher.withRules { $0.objects[~address] = WatchRules.ExpectedToLive(object: object, reason: reason) }
  }

  /// Objects of types whose names match may live on, also those that a scope leaves.
  ///
  /// - Parameters:
  ///   - pattern: as for ``Types/matching(_:)``.
  ///   - reason: why.
  public static func expectedToLive(matching pattern: String, reason: String) {
    _ = Watcher.withRules { $0.patterns.append((pattern, reason)) }
  }

  /// How many survivors were not told, by the reasons of ``expectedToLive(_:reason:)-(AnyObject.Type,_)`` and its like.
  public static var survivorsExpectedToLive: [String: Int] { Watcher.withRules { $0.suppressed } ?? [:] }

  /// Warns when more objects live than there should. Looked at once a second: a number that was passed in between and is within the limit
  /// again is not seen.
  ///
  /// - Parameters:
  ///   - types: a class with its subclasses, or a group.
  ///   - limit: so many may live. A new limit for the same types replaces the old one.
  public static func maxLiveCount(of types: Types, _ limit: Int) {
    _ = Watcher.withRules { rules in
      rules.budgets.removeAll { $0.types.description == types.description }
      rules.budgets.append(WatchRules.Budget(types: types, limit: limit))
      rules.nextBudgetLook = rules.nextBudgetLook ?? 0
    }
    Watcher.startThread()
  }

  /// Warns when more objects of a class and its subclasses live than there should.
  public static func maxLiveCount(of type: any AnyObject.Type, _ limit: Int) { maxLiveCount(of: .type(type), limit) }

  /// What becomes of a survivor, a withdrawal, a passed budget. At first: one line on stderr.
  ///
  /// - Parameters:
  ///   - handler: what becomes of it.
  ///   - lookingForHolders: whether who holds a survivor is looked for, as by ``holders(of:)``: all threads stand still for some
  ///     milliseconds, and calls that a signal interrupts may return early. nil: under `lifespan record`, where no signal is sent for
  ///     it, and in tests that import LifespanTesting. At most a hundredth of the time is spent on it; what is not looked for says so.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func handleFindings(_ handler: FindingHandler, lookingForHolders: Bool? = nil) {
    _ = Watcher.withRules { rules in
      rules.handler = handler
      rules.looksForHolders = lookingForHolders
    }
  }

  /// Runs a body; what is born in it, and in tasks that it makes, is expected to be released after it.
  ///
  /// ```swift
  /// try Allocations.withScope("GET /x", of: .module("MyApp"), expectReleasedWithin: .seconds(2)) { try respond(to: request) }
  /// ```
  ///
  /// Told as ``ScopeSurvivors``, at the time that is given after the body's end or a little later. What other threads without a task
  /// make meanwhile (a block on a dispatch queue) does not belong to it. Where nothing is recorded, the body runs and nothing is told.
  ///
  /// - Parameters:
  ///   - name: stands in the message.
  ///   - types: whose objects.
  ///   - within: counted from the end of the body.
  ///   - body: runs at once, on this thread.
  ///
  /// Cost: two questions to the recorder (some microseconds; under `lifespan record` some hundred), and one look at all living objects for
  /// all scopes whose time is over.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func withScope<Value, Failure: Error>(
    _ name: String, of types: Types, expectReleasedWithin within: Duration, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let scope = try? TaskScope(tallied: false)
    defer { close(scope, name, types, within) }
    return try body()
  }

  /// Runs an asynchronous body as the other form does a synchronous one, on the caller's actor.
  @available(macOS 13, iOS 16, tvOS 16, watchOS 9, *)
  public static func withScope<Value, Failure: Error>(
    _ name: String, of types: Types, expectReleasedWithin within: Duration,
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let scope = try? TaskScope(tallied: false)
    defer { close(scope, name, types, within) }
    return try await body()
  }

  private static func close(_ scope: TaskScope?, _ name: String, _ types: Types, _ within: Duration) {
    guard let scope else { return }
    scope.end()
    Watcher.expect(WatchedScope(scope: scope, name: name, types: types), within.nanoseconds)
  }
}

extension Watcher {
  static func say(_ line: String) {
    var line = line
    line.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { lifespan_watch_say($0.baseAddress, $0.count) }
    }
  }
}

extension Duration {
  /// From 0 on; as many as there can be where it is longer.
  package var nanoseconds: UInt64 {
    guard components.seconds >= 0 else { return 0 }
    let (seconds, isTooLong) = UInt64(components.seconds).multipliedReportingOverflow(by: 1_000_000_000)
    return isTooLong ? .max / 4 : min(seconds + UInt64(clamping: components.attoseconds / 1_000_000_000), .max / 4)
  }
}

/// The second word of a class's metadata.
func superclass(of type: AnyClass) -> AnyClass? {
  let word = unsafeBitCast(type, to: UnsafePointer<UInt>.self)[1]
  return UnsafeRawPointer(bitPattern: word).map { unsafeBitCast($0, to: AnyClass.self) }
}
#endif
