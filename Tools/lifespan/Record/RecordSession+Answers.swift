// What RecordSession answers to each message of its socket.

import CSession
import Glibc
import LifespanTrace

extension RecordSession {
  /// The answer to one message of process `pid`, with the descriptor that goes with it (-1 none).
  func answer(_ question: SessionMessage, from pid: Int32) -> (message: SessionMessage, descriptor: Int32) {
    switch question.op {
    case LIFESPAN_OP_HELLO: return hello(question, from: pid)
    case LIFESPAN_OP_STATUS: return (status(question.number), -1)
    case LIFESPAN_OP_MARK: return (withRecording(question) { self.mark(question.text, in: $0) }, -1)
    case LIFESPAN_OP_START: return (withRecording(question) { self.turn($0, on: true) }, -1)
    case LIFESPAN_OP_STOP: return (withRecording(question) { self.turn($0, on: false) }, -1)
    case LIFESPAN_OP_PICTURE: return (withRecording(question) { self.picture(question, of: $0) }, -1)
    case LIFESPAN_OP_PICTURE_DONE: return (withRecording(question) { self.pictureIsDone(question, $0) }, -1)
    case LIFESPAN_OP_FLUSH:
      return (withRecording(question) { SessionMessage(LIFESPAN_OP_FLUSH, status: UInt32($0.flush())) }, -1)
    default: return (SessionMessage(question.op, status: UInt32(EOPNOTSUPP)), -1)
    }
  }

  // MARK: Hello

  private func hello(_ question: SessionMessage, from pid: Int32) -> (message: SessionMessage, descriptor: Int32) {
    noteGreeting(of: pid)
    if question.raw.number != 0 { return forked(question, pid) }
    let runtime: RecordingChoice.Runtime =
      question.raw.runtime == 1 ? .hooked : question.raw.runtime == 2 ? .unhookable : .none
    let facts = ProcessFacts(pid: pid, claimed: runtime == .unhookable ? "" : question.text)
    promoteLateRuntimes()
    let running = Dictionary(uniqueKeysWithValues: recordings.map { ($0.pid, $0.standing) })
    let decision = choice.decide(pid: pid, facts: facts, runtime: runtime, running: running)
    if let before = recording(of: pid) { replaced(before, decision) }
    if runtime == .unhookable, decision == .pass, recordings.isEmpty {
      problems.append("\(facts.name): \(question.text)")
    }
    switch decision {
    case .pass: return (verdict(LIFESPAN_VERDICT_PASS), -1)
    case .off: return (verdict(LIFESPAN_VERDICT_OFF), -1)
    case .record(let standing):
      let process = RecordedProcess(pid: pid, facts: facts, standing: standing, hasRuntime: runtime == .hooked)
      return begin(process)
    }
  }

  /// A child of a recorded process that was forked: its trace begins with what lives in its memory.
  private func forked(_ question: SessionMessage, _ pid: Int32) -> (message: SessionMessage, descriptor: Int32) {
    let facts = ProcessFacts(pid: pid, claimed: question.text)
    var state = recordings.first { $0.number == question.raw.status }?.takeFork(question.number)
    if let left = forks.firstIndex(where: { $0.recording == question.raw.status && $0.number == question.number }) {
      state = forks.remove(at: left)
    }
    guard options.children, let state else {
      problems.append("\(facts.name) \(pid): what it holds since its fork is not known")
      return (verdict(LIFESPAN_VERDICT_OFF), -1)
    }
    let hasRuntime = question.raw.runtime == 1
    return begin(RecordedProcess(pid: pid, facts: facts, standing: .program, hasRuntime: hasRuntime, fork: state))
  }

  private func begin(_ process: RecordedProcess) -> (message: SessionMessage, descriptor: Int32) {
    dismissAll(below: process.standing)
    do {
      let made = try beginRecording(of: process)
      let alone = process.standing == .program && !options.children
      return (verdict(alone ? LIFESPAN_VERDICT_RECORD : LIFESPAN_VERDICT_PERHAPS), made.mapping)
    } catch {
      problems.append(ExitStatus.describe(error).line)
      return (verdict(LIFESPAN_VERDICT_OFF), -1)
    }
  }

  /// A new image in a recorded process: the old one's objects are gone with it. What a wrapper or a shim did before it became
  /// the program is of no interest, nor what a child did between fork and exec.
  private func replaced(_ before: Recording, _ decision: RecordingChoice.Decision) {
    if before.isFork { return dismiss(before) }
    if decision != .off, before.wasPassage { return dismiss(before) }
    end(before, waitStatus: 0)
  }

  /// A Swift runtime came by dlopen: that process is the program now, and nobody else.
  private func promoteLateRuntimes() {
    for recording in recordings where recording.standing < .program && recording.runtimeCameLate {
      recording.standing = .program
      choice.becameProgram(pid: recording.pid)
      dismissAll(below: .program)
    }
  }

  private func verdict(_ verdict: lifespan_verdict) -> SessionMessage {
    SessionMessage(LIFESPAN_OP_HELLO, status: verdict.rawValue)
  }

  // MARK: Questions of the other subcommands

  /// The recording of the process that the question's number names; 0: the one that began first.
  private func withRecording(
    _ question: SessionMessage, _ body: (Recording) -> SessionMessage
  ) -> SessionMessage {
    let meant = recordings.first { question.number == 0 || $0.pid == Int32(clamping: question.number) }
    guard let meant, meant.hasBegun else { return SessionMessage(question.op, status: UInt32(ENOENT)) }
    return body(meant)
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

  /// A picture is wished for; it is made meanwhile, and asked for by its number.
  private func picture(_ question: SessionMessage, of recording: Recording) -> SessionMessage {
    let number = recording.wishForPicture(ofMark: question.text == "mark")
    return SessionMessage(LIFESPAN_OP_PICTURE, number: UInt64(number))
  }

  /// Whether the picture whose number is the question's status is there; the text says why it is not to be had.
  private func pictureIsDone(_ question: SessionMessage, _ recording: Recording) -> SessionMessage {
    let pictures = recording.pictures
    guard pictures.done >= question.raw.status else {
      return SessionMessage(LIFESPAN_OP_PICTURE_DONE, status: UInt32(EAGAIN))
    }
    return SessionMessage(LIFESPAN_OP_PICTURE_DONE, text: pictures.obstacle ?? "")
  }

  private func turn(_ recording: Recording, on: Bool) -> SessionMessage {
    let op = on ? LIFESPAN_OP_START : LIFESPAN_OP_STOP
    switch recording.turn(on: on) {
    case .success(let changed): return SessionMessage(op, number: changed ? 1 : 0)
    case .failure(let error): return SessionMessage(op, status: UInt32(error.code))
    }
  }

  /// The state of the recording with this index; the answer's number says how many there are.
  private func status(_ index: UInt64) -> SessionMessage {
    let asked = recordings.indices.contains(Int(clamping: index)) ? recordings[Int(clamping: index)] : nil
    guard let line = (asked.map(status(of:)) ?? waiting).line(limit: 1024) else {
      return SessionMessage(LIFESPAN_OP_STATUS, status: UInt32(ENAMETOOLONG))
    }
    return SessionMessage(LIFESPAN_OP_STATUS, number: UInt64(recordings.count), text: line)
  }

  private var waiting: RecordingStatus {
    RecordingStatus(pid: program, recordPID: getpid(), program: options.program.first ?? "", recording: false)
  }

  private func status(of recording: Recording) -> RecordingStatus {
    let counts = recording.counts
    return RecordingStatus(
      pid: recording.pid, recordPID: getpid(), program: recording.facts.executable,
      elapsedNanoseconds: UInt64(clamping: Recording.time(counts.elapsed_ticks, counts).rawValue),
      events: counts.events, living: counts.living,
      lost: counts.lost, recording: recording.isOn, trace: FilePath.absolute(recording.file.path))
  }
}
