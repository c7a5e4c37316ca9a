// Why a file can't be read as a trace at all. Thrown by TraceReader; the command prints it as its one line.

/// A file that can't be used: which one, where, why, and what to do.
///
/// A trace that is merely cut or damaged is no error: it is read up to there, and `TraceEnding` says so.
public struct TraceError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What is wrong.
  public enum Problem: Sendable, Hashable {
    /// It can't be opened or read; the system's words.
    case unreadable(String)
    /// It has no bytes.
    case empty
    /// It does not begin like a trace.
    case notATrace
    /// It ends within its header.
    case cutHeader
    /// Its header is damaged; what is wrong.
    case damagedHeader(String)
    /// It was written in a newer major version of the format.
    case newerVersion(UInt16)
    /// It holds something that must be understood and is not known here; what.
    case needsNewerReader(String)
  }

  /// The file as the user named it.
  public var file: String
  /// Bytes from the start of the file.
  public var offset: UInt64
  /// What is wrong.
  public var problem: Problem

  /// Memberwise.
  public init(file: String, offset: UInt64 = 0, problem: Problem) {
    self.file = file
    self.offset = offset
    self.problem = problem
  }

  /// One line: file, place, reason, cure.
  public var description: String {
    switch problem {
    case .unreadable(let why):
      "\(file): can't be read (\(why)); check the path and its permissions"
    case .empty:
      "\(file): empty, byte 0: nothing was recorded into it; record again"
    case .notATrace:
      "\(file): byte \(offset): no Lifespan trace; give a file that `lifespan record` wrote"
    case .cutHeader:
      "\(file): cut at byte \(offset), within its header: nothing can be read; record again"
    case .damagedHeader(let what):
      "\(file): byte \(offset): damaged header (\(what)); record again, or fetch the file again"
    case .newerVersion(let major):
      "\(file): byte \(offset): format version \(major), newer than this lifespan reads (1); use a newer lifespan"
    case .needsNewerReader(let what):
      "\(file): byte \(offset): \(what), which this lifespan does not know; use a newer lifespan"
    }
  }
}
