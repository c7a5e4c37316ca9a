// What every report says first: what was recorded, how completely, and where the file ends.
import LifespanTrace

/// The recording as a whole.
public struct TraceInformation: Sendable, Codable, Equatable {
  /// What the recorder could see.
  public enum Capture: String, Sendable, Codable, Hashable {
    /// Not said.
    case none
    /// Everything.
    case complete
    /// Not everything: `captureReason` says why.
    case partial
    /// Counts without stacks or order.
    case countsOnly = "counts-only"
  }

  /// How the recorder came into the program.
  public enum Door: String, Sendable, Codable, Hashable {
    /// By `lifespan record`.
    case preload
    /// The program links the library.
    case linked
    /// Not said.
    case unknown
  }

  /// Events that were not recorded.
  public struct Lost: Sendable, Codable, Hashable {
    /// Births.
    public var births: UInt64
    /// Deaths.
    public var deaths: UInt64
    /// Others, mostly retains and releases.
    public var others: UInt64
    /// All.
    public var total: UInt64 { births &+ deaths &+ others }

    /// Memberwise.
    public init(births: UInt64 = 0, deaths: UInt64 = 0, others: UInt64 = 0) {
      self.births = births
      self.deaths = deaths
      self.others = others
    }
  }

  /// A hole in the recording.
  public struct Gap: Sendable, Codable, Hashable {
    /// Why events are missing.
    public enum Reason: String, Sendable, Codable, Hashable {
      /// The thread's ring was full.
      case ringFull
      /// There was no ring for the thread.
      case noRing
      /// Suppressed inside the recorder's own code (a signal handler).
      case suppressed
      /// The recording command died.
      case recorderDied
      /// A record was damaged.
      case damagedRecord
      /// The trace had reached the size that it was given.
      case sizeLimit
      /// One that this version does not know.
      case other
    }

    /// The thread that lost them; unknown for all.
    public var thread: ThreadID
    /// From.
    public var from: TraceTime
    /// To.
    public var to: TraceTime
    /// What.
    public var lost: Lost
    /// Why.
    public var reason: Reason

    /// Memberwise.
    public init(thread: ThreadID, from: TraceTime, to: TraceTime, lost: Lost, reason: Reason) {
      self.thread = thread
      self.from = from
      self.to = to
      self.lost = lost
      self.reason = reason
    }
  }

  /// What `record --keep living` and `--max-size` took out of the trace.
  public struct Discarded: Sendable, Codable, Hashable {
    /// The option that did it, as it is typed.
    public var by: String
    /// Of what died before this moment there is no event left.
    public var before: TraceTime
    /// Objects that died; they are counted by type and generation.
    public var objects: UInt64
    /// Events: all of those objects, older ones of the objects that lived then.
    public var events: UInt64

    /// Memberwise.
    public init(by: String, before: TraceTime, objects: UInt64, events: UInt64) {
      self.by = by
      self.before = before
      self.objects = objects
      self.events = events
    }
  }

  /// A mark, set by the program, by `lifespan mark`, or afterwards.
  public struct Mark: Sendable, Codable, Hashable {
    /// The generation that it closes.
    public var generation: Generation
    /// Its name; its letters when it has none.
    public var name: String
    /// When.
    public var time: TraceTime

    /// Memberwise.
    public init(generation: Generation, name: String, time: TraceTime) {
      self.generation = generation
      self.name = name
      self.time = time
    }
  }

  /// The program's path; empty when not said.
  public var program = ""
  /// Its arguments, shell-quoted.
  public var arguments = ""
  /// Its process id.
  public var pid: UInt32 = 0
  /// Its parent's.
  public var parentPID: UInt32 = 0
  /// When the recording began, RFC 3339.
  public var startedAt = ""
  /// The recorder's version.
  public var recorder = ""
  /// The machine.
  public var host = ""
  /// Options of `record` as typed.
  public var options = ""
  /// How stacks were unwound.
  public var unwind = ""
  /// How the recorder came into the program.
  public var door = Door.unknown
  /// What the recorder could see.
  public var capture = Capture.none
  /// Why not everything.
  public var captureReason = ""
  /// Every pair of the INFO chunks, also those above.
  public var info: [String: String] = [:]

  /// Events recorded, up to where the file could be read: those in it, and those that were discarded.
  public var eventsRecorded: UInt64 = 0
  /// Births among them.
  public var birthsRecorded: UInt64 = 0
  /// What was taken out of the trace while it was recorded; nil: nothing.
  public var discarded: Discarded?
  /// Events lost, by the gaps, or by the end's own count where that is larger (the rest then under `others`).
  public var lost = Lost()
  /// Where they were lost.
  public var gaps: [Gap] = []
  /// Times are whole numbers of such steps, in nanoseconds, rounded up.
  public var timeStep: Int64 = 1
  /// The marks, oldest first.
  public var marks: [Mark] = []
  /// Time of the last thing in the recording (its end, where it has one).
  public var end = TraceTime.start
  /// Where and why reading stopped.
  public var ending = TraceEnding(offset: 0, reason: .whole)
  /// The program ended by itself; nil when the recording does not say (cut).
  public var endedByItself: Bool?
  /// The program's exit status as wait reports it; nil when the recording does not say.
  public var exitStatus: Int?
  /// Deaths of objects whose birth is not in the recording: in no row of any report.
  public var unknownDeaths: UInt64 = 0
  /// Ends that were not seen, as the events tell them: a recording without end has no counter of them.
  public var endsNotSeenByEvents: UInt64 = 0
  /// Counters of the END chunk by name; empty without one.
  public var counters: [String: UInt64] = [:]
  /// The recording was paused at some time: births meanwhile are not in it.
  public var wasPaused = false

  /// Older events of objects that are in the recording, but were no longer kept when it was saved.
  public var olderEventsDropped: UInt64 = 0

  /// Nothing known.
  public init() {}

  /// The file has no end: cut, or still being written.
  public var isCut: Bool { ending.reason != .whole }
  /// Stacks compared with libunwind's.
  public var stacksChecked: UInt64 { counters["stacks_checked"] ?? 0 }
  /// Those of them that were equal.
  public var stacksEqual: UInt64 { counters["stacks_equal"] ?? 0 }
  /// Others, which differ only from where libunwind has no unwind information and guesses.
  public var stacksGuessed: UInt64 { counters["stacks_guessed"] ?? 0 }
  /// Stacks not kept, as the table was full.
  public var stacksFull: UInt64 { counters["stacks_full"] ?? 0 }
  /// Nanoseconds that the program waited for full rings.
  public var waitedNanoseconds: UInt64 { counters["waited_ns"] ?? 0 }
  /// Events inside the recorder's own code, not recorded.
  public var suppressed: UInt64 { counters["suppressed"] ?? 0 }
  /// Objects whose end was not seen.
  public var endsNotSeen: UInt64 { max(counters["ends_not_seen"] ?? 0, endsNotSeenByEvents) }
  /// What a report may say of the capture: where ends were not seen the recorder did not see everything, whatever it says.
  public var effectiveCapture: Capture { capture == .complete && endsNotSeen > 0 ? .partial : capture }
  /// Blocks of malloc that are no Swift objects were recorded too.
  public var recordsMalloc: Bool { info["malloc"] == "all" }

  /// Regions that the program maps were recorded too.
  public var recordsRegions: Bool { info["vm"] == "all" }

  /// Whether retains and releases of a type's objects were recorded.
  public func recordsReferenceCounts(of type: TypeIdentity) -> Bool {
    type.kind.hasReferenceCount && (type.isTracked || info["refcounts"] == "all")
  }
}
