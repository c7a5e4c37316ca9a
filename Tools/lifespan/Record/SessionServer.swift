// The session's socket on the side of `record`: listens, checks who asks, answers. What is asked is done by RecordSession.

import CSession
import Glibc

/// The listening socket of one `record`.
final class SessionServer {
  let path: String
  let descriptor: Int32

  /// Listens in the first folder that can be used; throws what is wrong with each.
  init() throws {
    var problems: [String] = []
    for directory in SessionDirectory.candidates {
      if let problem = directory.prepare() {
        problems.append(problem)
        continue
      }
      let candidate = directory.socketPath(pid: getpid())
      // What lies there under our own pid was left behind by a process that is gone.
      unlink(candidate)
      let socket = session_listen(candidate)
      if socket >= 0 {
        path = candidate
        descriptor = socket
        return
      }
      problems.append("\(candidate): \(SystemError.text(-socket))")
    }
    throw CommandFailure("no place for the session's socket: \(problems.joined(separator: "; "))")
  }

  /// Nobody can connect any more.
  func remove() {
    unlink(path)
    close(descriptor)
  }

  /// Takes one connection and one message, and sends what `answer` gives. False when none is waiting.
  func serve(_ answer: (SessionMessage, Int32) -> (message: SessionMessage, descriptor: Int32)) -> Bool {
    var peer: Int32 = 0
    let connection = session_accept(descriptor, &peer)
    // Of another user: refused and closed; the next one may be ours.
    if connection == -EPERM { return true }
    guard connection >= 0 else { return false }
    defer { close(connection) }
    guard let question = try? SessionMessage(from: connection) else { return true }
    let reply = answer(question, peer > 0 ? peer : Int32(bitPattern: question.raw.pid))
    try? reply.message.send(to: connection, descriptor: reply.descriptor)
    return true
  }
}
