// `lifespan record` at work: starts the program, serves the session's socket, relays signals, begins and ends recordings, and
// waits. One thread; a second one drains (Recording). Made by RecordCommand.

import CSession
import Glibc

/// One run of `record`.
final class RecordSession {
  let options: RecordOptions
  let name: OutputName
  let signals: SignalRelay
  /// Nil when nothing can be recorded: the program runs alone.
  let server: SessionServer?
  var choice = RecordingChoice()
  var recording: Recording?
  var finished: [FinishedRecording] = []
  /// Why something that could have been recorded was not.
  var problems: [String] = []
  private(set) var program: Int32 = 0
  private(set) var programEnd: Int32?
  private var recordedPidfd: Int32 = -1
  /// The file that was opened before the program started, until a recording takes it.
  private var spare: TraceFile?

  init(options: RecordOptions, name: OutputName, spare: TraceFile?, server: SessionServer?, signals: SignalRelay) {
    self.options = options
    self.name = name
    self.spare = spare
    self.server = server
    self.signals = signals
  }

  /// Runs the program to its end and the recorded process to its own. Gives how the program ended.
  func run(_ launch: ProgramLaunch) throws -> ProgramEnd {
    defer {
      server?.remove()
      spare?.discard()
    }
    program = try launch.start(mask: signals.maskBefore)
    while programEnd == nil || recording != nil { step() }
    endRecording(waitStatus: nil)
    return programEnd.flatMap(ProgramEnd.init(waitStatus:)) ?? .exited(0)
  }

  /// Waits for one thing to happen and deals with it.
  private func step() {
    var polled = [signals.descriptor, server?.descriptor ?? -1, recordedPidfd].map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    let count = poll(&polled, nfds_t(polled.count), -1)
    if count < 0 { return }
    // Hellos first: a program that has just begun and ended is still recorded.
    if polled[1].revents != 0 { serveAll() }
    if polled[0].revents != 0, signals.relay(to: signalTarget) { reap() }
    if polled[2].revents != 0 { recordedProcessEnded() }
  }

  /// The program while it lives, then the recorded process that outlives it.
  private var signalTarget: Int32? { programEnd == nil ? program : recording?.pid }

  private func serveAll() {
    while server?.serve({ self.answer($0, from: $1) }) == true {}
  }

  /// Looks at every child that has changed; as pid 1 these are orphans too.
  private func reap() {
    var status: Int32 = 0
    while true {
      let pid = waitpid(-1, &status, WNOHANG | WUNTRACED)
      if pid <= 0 { return }
      if ProgramEnd(waitStatus: status) != nil {
        if pid == recording?.pid { endRecording(waitStatus: status) }
        if pid == program { programEnd = status }
      } else if pid == program {
        stopIfJob(signal: (status >> 8) & 0xff)
      }
    }
  }

  /// Ctrl-Z stops the whole job: the shell waits for this process. A plain SIGSTOP was meant for the program alone.
  private func stopIfJob(signal: Int32) {
    guard [SIGTSTP, SIGTTIN, SIGTTOU].contains(signal), getpid() != 1 else { return }
    session_stop_by(signal)
  }

  private func recordedProcessEnded() {
    // A child's status comes with SIGCHLD; of a process further down only the end is known.
    reap()
    if recording?.pid != program || programEnd != nil { endRecording(waitStatus: nil) }
  }

  // MARK: Recordings

  /// A file for the next recording: the one that was opened first, or another.
  private func nextFile() throws -> TraceFile {
    if let file = spare {
      spare = nil
      return file
    }
    return try TraceFile(in: name)
  }

  /// Begins to record a process that said hello. Throws why it cannot be.
  func beginRecording(pid: Int32, facts: ProcessFacts) throws -> Recording {
    let file = try nextFile()
    do {
      // A later trace of the same session never replaces an earlier one, whatever --force says.
      let wanted = name.path(program: facts.executable, pid: pid)
      let replaces = options.force && !finished.contains { $0.path == wanted }
      try file.rename(to: wanted, force: replaces)
      let made = try Recording(pid: pid, facts: facts, options: options, file: file)
      try made.start()
      recordedPidfd = max(-1, session_pidfd(pid))
      recording = made
      return made
    } catch {
      file.discard()
      throw error
    }
  }

  /// Ends the recording that runs, if one does.
  func endRecording(waitStatus: Int32?) {
    guard let ended = recording else { return }
    recording = nil
    if recordedPidfd >= 0 { close(recordedPidfd) }
    recordedPidfd = -1
    finished.append(ended.finish(waitStatus: waitStatus))
  }
}
