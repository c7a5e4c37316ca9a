// The recordings that run now, seen from another process: found by their sockets, asked over them. Used by list, mark, start,
// stop, and by the reading subcommands where TRACE is a PID.

import CSession
import Glibc

/// One running `lifespan record` of this user.
struct RunningRecording: Sendable {
  let socketPath: String
  let status: RecordingStatus

  /// All that answer, by pid. Sockets whose command is gone are removed.
  static func all() -> [RunningRecording] {
    SessionDirectory.candidates.flatMap { directory in
      directory.sockets().flatMap { entry -> [RunningRecording] in
        do {
          return try all(of: entry.path)
        } catch let error as SessionError {
          if error.code == ECONNREFUSED { unlink(entry.path) }
          return []
        } catch {
          return []
        }
      }
    }
    .sorted { $0.status.pid < $1.status.pid }
  }

  /// Those of one `record`, in the order in which they began; before the first one, the program that it has started.
  private static func all(of socketPath: String) throws -> [RunningRecording] {
    var found: [RunningRecording] = []
    var count: UInt64 = 1
    while UInt64(found.count) < count {
      let answer = try ask(socketPath, SessionMessage(LIFESPAN_OP_STATUS, number: UInt64(found.count)))
      guard let status = RecordingStatus(line: answer.text) else { break }
      // One may have ended since: then the last is told again as one that waits.
      if status.trace == nil, !found.isEmpty { break }
      found.append(RunningRecording(socketPath: socketPath, status: status))
      count = answer.number
    }
    return found
  }

  /// The recording of this process (or of this `record`); without a pid the only one that runs.
  static func select(pid: Int32?) throws -> RunningRecording {
    let running = all()
    let known = running.map { "\($0.status.pid) (\($0.status.program))" }.joined(separator: ", ")
    guard let pid else {
      if let only = running.first, running.count == 1 { return only }
      if running.isEmpty { throw CommandFailure("no recording runs; start one with lifespan record -- PROGRAM") }
      throw UsageError.needsPID(running: known)
    }
    if let found = running.first(where: { $0.status.pid == pid || $0.status.recordPID == pid }) { return found }
    if running.isEmpty { throw CommandFailure("process \(pid) is not recorded: no recording runs") }
    throw CommandFailure("process \(pid) is not recorded; these are: \(known)")
  }

  /// Writes out what the recording of `pid` holds by now. Gives the path of its trace and its state at that moment.
  static func resolve(pid: Int32) throws -> (trace: String, status: RecordingStatus) {
    let running = try select(pid: pid)
    guard running.status.trace != nil else { throw running.notYet }
    _ = try running.ask(LIFESPAN_OP_FLUSH)
    let status = try running.now()
    guard let trace = status.trace else { throw running.notYet }
    return (trace, status)
  }

  /// Its state now, as `status` is that of the moment at which it was found.
  func now() throws -> RecordingStatus {
    try Self.all(of: socketPath).first { $0.status.pid == status.pid }?.status ?? status
  }

  /// Asks for this recording; throws a line where it refuses (but with the status `accepting`).
  func ask(
    _ op: lifespan_op, text: String = "", status code: UInt32 = 0, accepting: UInt32 = 0
  ) throws -> SessionMessage {
    do {
      let question = SessionMessage(op, number: UInt64(status.pid), status: code, text: text)
      let answer = try Self.ask(socketPath, question)
      if accepting != 0, answer.raw.status == accepting { return answer }
      if answer.raw.status == UInt32(ENOENT) { throw notYet }
      if answer.raw.status != 0 {
        throw CommandFailure("process \(status.pid): \(SystemError.text(Int32(bitPattern: answer.raw.status)))")
      }
      return answer
    } catch let error as SessionError {
      if error.code == ENOENT || error.code == ECONNREFUSED {
        throw CommandFailure("process \(status.pid): its recording has just ended")
      }
      throw CommandFailure("process \(status.pid): its recording does not answer: \(SystemError.text(error.code))")
    }
  }

  private var notYet: CommandFailure {
    CommandFailure("process \(status.pid) (\(status.program)) has not begun to be recorded: no Swift runtime so far")
  }

  private static func ask(_ path: String, _ question: SessionMessage) throws -> SessionMessage {
    var answer = question
    let result = session_ask(path, &answer.raw)
    if result != 0 { throw SessionError(code: -result) }
    return answer
  }
}
