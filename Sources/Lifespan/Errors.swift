// Why something can't be answered or done. Thrown by Allocations; every message says the cure where there is one.

extension Allocations {
  /// There is no true answer, as what was asked about is not recorded. Never a zero in its place.
  public struct NotRecording: Error, Sendable, Hashable, CustomStringConvertible {
    /// Why there is no answer.
    public enum Reason: Sendable, Hashable {
      /// ``Allocations/start(recording:_:referenceCounts:historyEvents:)`` was not called, or has failed.
      case notStarted
      /// The recording was stopped: objects born since are not counted.
      case stopped
      /// Not Linux on x86-64 with glibc.
      case unsupportedPlatform
      /// The package was built without its trait `Recording`.
      case builtWithout
      /// This process was forked from the recorded one; a child is not recorded.
      case forked
      /// The preload library of `lifespan record` is of another version than this library; their interface numbers.
      case otherVersion(recorder: UInt32, library: UInt32)
      /// Run below `lifespan record`, which records another process.
      case recordsAnotherProcess
      /// The recording command does not answer.
      case recorderGone
      /// Only tracked types are recorded, and this is none.
      case notTracked(type: String)
      /// A rule leaves out this type, or values of this token.
      case leftOut(type: String)
      /// The mark was set while nothing was recorded, or its record was lost.
      case unknownMark
      /// Memory for the answer could not be had, or the answer made no sense.
      case noAnswer
    }

    /// Why there is no answer.
    public let reason: Reason

    /// An error with this reason.
    public init(_ reason: Reason) {
      self.reason = reason
    }

    /// One sentence: why, and what to do.
    public var description: String {
      switch reason {
      case .notStarted: "nothing is recorded: call Allocations.start first"
      case .stopped: "the recording is stopped: objects born since are not counted"
      case .unsupportedPlatform: "recording works on Linux with glibc on x86-64 only"
      case .builtWithout: "this program was built without the package trait Recording of lifespan"
      case .forked: "this process was forked from the recorded one, and children are not recorded"
      case .otherVersion(let recorder, let library):
        "the lifespan command that records this process is of another version (interface \(recorder), "
          + "this program's library has \(library)): rebuild the program or install the matching command"
      case .recordsAnotherProcess: "this process runs below lifespan record, which records another process"
      case .recorderGone: "the lifespan command that records this process does not answer"
      case .notTracked(let type):
        "only tracked types are recorded, and \(type) is none: conform it to Tracked, call Allocations.track, "
          + "or start with recording: .swiftObjects"
      case .leftOut(let type): "a rule of the recording leaves out \(type)"
      case .unknownMark: "the mark was set while nothing was recorded, or its record was lost"
      case .noAnswer: "the recorder gave no usable answer, or memory for it could not be had"
      }
    }
  }

  /// Why a recording could not be started.
  public enum StartError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Not Linux on x86-64 with glibc.
    case unsupportedPlatform
    /// A recording runs already, with another scope, other rules or another history. One recording for a process.
    case alreadyRecording
    /// A rule's pattern is empty or holds a line break, or all rules together are longer than 2,048 bytes.
    case invalidRules
    /// The Swift runtime of this process could not be hooked; why.
    case notHookable(String)
    /// No memory for the recording.
    case noMemory
    /// Nothing is recorded here, and nothing can be: forked, another version, or below another recording.
    case notRecording(NotRecording)

    /// One sentence: why, and what to do.
    public var description: String {
      switch self {
      case .unsupportedPlatform: NotRecording(.unsupportedPlatform).description
      case .alreadyRecording: "this process is recorded already, with other options: one recording for a process"
      case .invalidRules:
        "a rule's pattern is empty or holds a line break, or all rules together are longer than 2,048 bytes"
      case .notHookable(let reason): "the Swift runtime can't be hooked: \(reason)"
      case .noMemory: "there is no memory for the recording (it reserves 256 MiB of address space at least)"
      case .notRecording(let error): error.description
      }
    }
  }

  /// Why the heap could not be looked at. The program goes on unharmed.
  public enum HeapError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is nothing to look at.
    case notRecording(NotRecording)
    /// The object's birth was not recorded: it was born before the start, or its type is left out.
    case unknownObject(type: String)
    /// The system or the program itself forbids what is needed for it; why.
    case forbidden(String)
    /// The small recorder for containers records this process, and cannot look at a heap.
    case commandCannotLook
    /// No memory for it.
    case noMemory

    /// One sentence: why, and what to do.
    public var description: String {
      switch self {
      case .notRecording(let error): error.description
      case .unknownObject(let type):
        "this object of \(type) is not recorded: it was born before the start of the recording, or its type is left out"
      case .forbidden(let reason): "the heap can't be looked at: \(reason)"
      case .commandCannotLook:
        "lifespan-recorder records this process, and can't look at a heap: use the whole lifespan command"
      case .noMemory: "there is no memory to look at the heap"
      }
    }
  }

  /// Why a recording could not be saved.
  public enum SaveError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is nothing to save.
    case notRecording(NotRecording)
    /// The file could not be written: its path, the `errno` value, the system's text. A file that was there before is
    /// unharmed.
    case file(path: String, errno: Int32, message: String)

    /// One sentence: what failed, and where.
    public var description: String {
      switch self {
      case .notRecording(let error): error.description
      case .file(let path, _, let message): "\(path): \(message)"
      }
    }
  }
}

#if Recording
internal import CLinkedDoor

extension Allocations.NotRecording {
  /// The error for a status of the C side that is not OK.
  init(_ status: lifespan_linked_status) {
    switch status {
    case LIFESPAN_LINKED_PLATFORM: self.init(.unsupportedPlatform)
    case LIFESPAN_LINKED_NOT_STARTED: self.init(.notStarted)
    case LIFESPAN_LINKED_FORKED: self.init(.forked)
    case LIFESPAN_LINKED_ABI: self.init(.otherVersion(recorder: Door.state().preload_abi, library: Door.abi))
    case LIFESPAN_LINKED_INACTIVE: self.init(.recordsAnotherProcess)
    case LIFESPAN_LINKED_GONE: self.init(.recorderGone)
    default: self.init(.noAnswer)
    }
  }
}
#endif
