// What RecordSession answers to each message of its socket.

import CSession
import Glibc
import LifespanTrace

extension RecordSession {
  /// The answer to one message of process `pid`, with the descriptor that goes with it (-1 none).
  func answer(_ question: SessionMessage, from pid: Int32) -> (message: SessionMessage, descriptor: Int32) {
    switch question.op {
    case LIFESPAN_OP_HELLO: return hello(question, from: pid)
    case LIFESPAN_OP_STATUS: return (status(), -1)
    case LIFESPAN_OP_MARK: return (withRecording(question.op) { self.mark(question.text, in: $0) }, -1)
    case LIFESPAN_OP_START: return (withRecording(question.op) { self.turn($0, on: true) }, -1)
    case LIFESPAN_OP_STOP: return (withRecording(question.op) { self.turn($0, on: false) }, -1)
    case LIFESPAN_OP_FLUSH:
      return (withRecording(question.op) { SessionMessage(LIFESPAN_OP_FLUSH, status: UInt32($0.flush())) }, -1)
    default: return (SessionMessage(question.op, status: UInt32(EOPNOTSUPP)), -1)
    }
  }

  // MARK: Hello

  private func hello(_ question: SessionMessage, from pid: Int32) -> (message: SessionMessage, descriptor: Int32) {
    let facts = ProcessFacts(pid: pid, claimed: question.raw.runtime == 2 ? "" : question.text)
    let recorded = recording?.pid
    let decision = choice.decide(
      pid: pid, facts: facts, hasRuntime: question.raw.runtime == 1, recording: recorded)
    // A new image in the recorded process: the old one's objects are gone with it.
    if recorded == pid { endRecording(waitStatus: 0) }
    if question.raw.runtime == 2, recorded == nil { problems.append("\(facts.name): \(question.text)") }
    switch decision {
    case .pass: return (verdict(LIFESPAN_VERDICT_PASS), -1)
    case .off: return (verdict(LIFESPAN_VERDICT_OFF), -1)
    case .record:
      do {
        let made = try beginRecording(pid: pid, facts: facts)
        return (verdict(LIFESPAN_VERDICT_RECORD), made.mapping)
      } catch {
        problems.append(ExitStatus.describe(error).line)
        return (verdict(LIFESPAN_VERDICT_OFF), -1)
      }
    }
  }

  private func verdict(_ verdict: lifespan_verdict) -> SessionMessage {
    SessionMessage(LIFESPAN_OP_HELLO, status: verdict.rawValue)
  }

  // MARK: Questions of the other subcommands

  private func withRecording(_ op: lifespan_op, _ body: (Recording) -> SessionMessage) -> SessionMessage {
    guard let recording, recording.hasBegun else { return SessionMessage(op, status: UInt32(ENOENT)) }
    return body(recording)
  }

  private func mark(_ name: String, in recording: Recording) -> SessionMessage {
    switch recording.mark(name) {
    case .success(let (number, time)):
      let shown = name.isEmpty ? recording.letters(ofMark: number) : name
      let answer = MarkAnswer(name: shown, nanoseconds: time.rawValue)
      return SessionMessage(LIFESPAN_OP_MARK, number: number, text: answer.line)
    case .failure(let error): return SessionMessage(LIFESPAN_OP_MARK, status: UInt32(error.code))
    }
  }

  private func turn(_ recording: Recording, on: Bool) -> SessionMessage {
    let op = on ? LIFESPAN_OP_START : LIFESPAN_OP_STOP
    switch recording.turn(on: on) {
    case .success(let changed): return SessionMessage(op, number: changed ? 1 : 0)
    case .failure(let error): return SessionMessage(op, status: UInt32(error.code))
    }
  }

  private func status() -> SessionMessage {
    guard let line = currentStatus().line(limit: 1024) else {
      return SessionMessage(LIFESPAN_OP_STATUS, status: UInt32(ENAMETOOLONG))
    }
    return SessionMessage(LIFESPAN_OP_STATUS, text: line)
  }

  private func currentStatus() -> RecordingStatus {
    guard let recording else {
      return RecordingStatus(pid: program, recordPID: getpid(), program: options.program.first ?? "", recording: false)
    }
    let counts = recording.counts
    return RecordingStatus(
      pid: recording.pid, recordPID: getpid(), program: recording.facts.executable,
      elapsedNanoseconds: UInt64(clamping: Recording.time(counts.elapsed_ticks, counts).rawValue),
      events: counts.events, living: counts.living,
      lost: counts.lost, recording: recording.isOn, trace: FilePath.absolute(recording.file.path))
  }
}
