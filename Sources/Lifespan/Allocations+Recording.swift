// Start, stop, track, marks: what the program tells the recorder.

extension Allocations {
  /// How much a recording can see in this process.
  public enum Capture: Sendable, Hashable, CustomStringConvertible {
    /// Everything that its scope names.
    case complete
    /// Not everything; why.
    case partial(reason: String)
    /// Births and deaths are counted, nothing more; why.
    case countsOnly(reason: String)

    /// The word that reports use, and the reason.
    public var description: String {
      switch self {
      case .complete: "complete"
      case .partial(let reason): "partial: \(reason)"
      case .countsOnly(let reason): "counts-only: \(reason)"
      }
    }
  }
}

#if Recording
internal import CLinkedDoor

extension Allocations {
  /// Starts recording this process, or goes on after ``stop()``.
  ///
  /// Other threads may run meanwhile. Objects born before the start are not known. There is one recording for a
  /// process: a second start with the same options changes nothing, with other options it throws.
  ///
  /// Under `lifespan record` the command's own recording, with the command's options, is the one that goes on, and its
  /// trace holds all that the command records. The answers here are what they are without the command: of the types
  /// that `recording` and `rules` let in, as far as the command records them. Two differences stay: objects born before
  /// the start are known to the command and count, and `referenceCounts` and `historyEvents` are the command's.
  ///
  /// - Parameters:
  ///   - recording: which objects are recorded: `.tracked`, `.swiftObjects`, or rules alone
  ///     (`[.record("MyApp.*"), .ignore("*Cache")]`: Swift objects of those types).
  ///   - rules: which types of them, by name; all together up to 2,048 bytes.
  ///   - referenceCounts: whether retain and release of all recorded types are recorded. Those of tracked types always
  ///     are.
  ///   - historyEvents: how many of the newest events are kept for ``history(of:)`` and ``save(to:)``.
  /// - Returns: what the recording can see.
  /// - Throws: ``StartError``; then nothing is recorded.
  ///
  /// Cost, once: 33 to 50 ms in a release build and 130 to 170 ms in a debug build, measured with a program that links
  /// Foundation. Nearly all of it goes into the unwind rows of all loaded images, which stacks are read by; a debug
  /// build compiles that part without optimisation. Under `lifespan record` the command has paid it before. 8 GiB of
  /// address space, of which only what is used takes memory.
  @discardableResult
  public static func start(
    recording: Recording, _ rules: [Rule] = [], referenceCounts: Bool = false, historyEvents: Int = 65_536
  ) throws(StartError) -> Capture {
    var text = ""
    for rule in recording.rules + rules {
      guard let line = rule.line else { throw .invalidRules }
      text += line
    }
    guard text.utf8.count <= 2_048 else { throw .invalidRules }
    var reason = [CChar](repeating: 0, count: 512)
    let status = text.withCString { rules in
      var settings = lifespan_linked_settings()
      settings.scope = (recording.scope == .tracked ? LIFESPAN_SCOPE_TRACKED : LIFESPAN_SCOPE_SWIFT).rawValue
      settings.refcounts = referenceCounts ? 1 : 0
      settings.history_events = UInt32(clamping: historyEvents)
      settings.rules = rules
      return lifespan_linked_start(&settings, &reason, reason.count)
    }
    switch status {
    case LIFESPAN_LINKED_OK: return capture ?? .complete
    case LIFESPAN_LINKED_PLATFORM: throw .unsupportedPlatform
    case LIFESPAN_LINKED_OTHER_OPTIONS: throw .alreadyRecording
    case LIFESPAN_LINKED_UNHOOKABLE: throw .notHookable(String(fromC: reason))
    case LIFESPAN_LINKED_NO_MEMORY: throw .noMemory
    default: throw .notRecording(NotRecording(status))
    }
  }

  /// Stops recording births; deaths of recorded objects stay recorded, so that what was recorded stays exact.
  /// ``statistics(_:)``, ``growth(since:)``, ``history(of:)`` and ``save(to:)`` still answer. Does nothing where
  /// nothing is recorded.
  ///
  /// What is born until the next start is never known: after that start counts are too small by those objects that
  /// still live, and ``capture`` and a saved trace are partial and say from when to when recording was stopped.
  public static func stop() { lifespan_linked_stop() }

  /// What the recording can see; nil where nothing is recorded. Partial once a ``stop()`` was followed by a start.
  public static var capture: Capture? {
    let state = Door.state()
    guard state.status == LIFESPAN_LINKED_OK.rawValue else { return nil }
    let reason = withUnsafeBytes(of: state.reason) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    switch lifespan_capture(state.capture) {
    case LIFESPAN_CAPTURE_COMPLETE: return .complete
    case LIFESPAN_CAPTURE_PARTIAL: return .partial(reason: reason)
    case LIFESPAN_CAPTURE_COUNTS: return .countsOnly(reason: reason)
    default: return nil
    }
  }

  /// Follows the objects of a class and of its subclasses one by one, as if it conformed to ``Tracked``: those born
  /// from now on, and the retains and releases of all that are recorded. Before or after the start; stays for the life
  /// of the process. Of a generic class all specialisations are tracked.
  ///
  /// Cost: some microseconds.
  public static func track(_ type: AnyClass) { lifespan_linked_track(unsafeBitCast(type, to: UnsafeRawPointer.self)) }

  /// Closes the current generation and begins the next one. Name a mark after what has just been done.
  ///
  /// An object belongs for ever to the generation in which it was allocated.
  ///
  /// - Parameter name: for reports; without one, generations are called A, B, C, ….
  /// - Returns: the mark, for ``growth(since:)``. Where nothing is recorded, a mark that knows so.
  ///
  /// Cost: one ring record, whatever lives.
  @discardableResult
  public static func markGeneration(_ name: String? = nil) -> Mark {
    var text = name ?? ""
    let ticks = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { lifespan_linked_mark($0.baseAddress, $0.count) }
    }
    return Mark(name: name, ticks: ticks < 0 ? nil : UInt64(ticks))
  }
}
#endif
