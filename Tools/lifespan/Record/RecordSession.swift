// `lifespan record` at work: starts the program, serves the session's socket, relays signals, begins and ends recordings, and
// waits. One thread; one more for each recording drains it (Recording). Made by RecordCommand.

import CDrain
import CSession
import Glibc

/// One run of `record`.
final class RecordSession {
  let options: RecordOptions
  let name: OutputName
  let signals: SignalRelay
  /// Nil when nothing can be recorded: the program runs alone.
  let server: SessionServer?
  var choice: RecordingChoice
  /// Those that run, in the order in which they began.
  var recordings: [Recording] = []
  var finished: [FinishedRecording] = []
  /// Why something that could have been recorded was not.
  var problems: [String] = []
  /// It was said before the program started why nothing can be recorded.
  var isWarned = false
  private(set) var program: Int32 = 0
  private(set) var programEnd: Int32?
  /// The file that was opened before the program started, until a recording takes it.
  private var spare: TraceFile?
  /// Every process that said hello, so that one that may still do so is told from one that has.
  private(set) var greeted: Set<Int32> = []
  /// Recordings so far.
  private var begun: UInt32 = 0
  /// What children hold whose parents ended before they said hello.
  var forks: [ForkState] = []

  init(options: RecordOptions, name: OutputName, spare: TraceFile?, server: SessionServer?, signals: SignalRelay) {
    self.options = options
    self.name = name
    self.spare = spare
    self.server = server
    self.signals = signals
    choice = RecordingChoice(blocks: !options.swiftOnly, children: options.children)
  }

  /// Runs the program to its end and the recorded processes to their own. Gives how the program ended.
  func run(_ launch: ProgramLaunch) throws -> ProgramEnd {
    defer {
      server?.remove()
      for state in forks { lifespan_drain_destroy(state.drain) }
      spare?.discard()
    }
    program = try launch.start(mask: signals.maskBefore)
    var latecomers = Latecomers()
    while true {
      while programEnd == nil || !recordings.isEmpty {
        step(milliseconds: patience)
      }
      // What the program left behind may be about to begin.
      guard let server, !isDecided, latecomers.mayCome(session: server.path, greeted: greeted) else { break }
      step(milliseconds: Latecomers.pause)
    }
    if let best = finished.filter(\.began).map(\.standing).max() { dismissAll(below: best) }
    return programEnd.flatMap(ProgramEnd.init(waitStatus:)) ?? .exited(0)
  }

  /// A process with a Swift runtime was recorded: no other is looked for.
  private var isDecided: Bool { !options.children && finished.contains { $0.standing == .program && $0.began } }

  func noteGreeting(of pid: Int32) { greeted.insert(pid) }

  /// How long to wait for something to happen; a program that waits for us in its exit tells in the mapping alone.
  private var patience: Int32 {
    let looks = options.leaks || recordings.contains { $0.pictures.isBusy }
    return options.verifyMilliseconds.map { min($0, 5) } ?? (looks ? 5 : -1)
  }

  /// Waits for one thing to happen and deals with it.
  private func step(milliseconds: Int32) {
    let watched = recordings.filter { $0.pidfd >= 0 }
    let bells = recordings
    var polled = ([signals.descriptor, server?.descriptor ?? -1] + watched.map(\.pidfd) + bells.map(\.bell)).map {
      pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
    }
    let count = poll(&polled, nfds_t(polled.count), milliseconds)
    for (recording, polled) in zip(bells, polled.suffix(bells.count)) where polled.revents != 0 && count > 0 {
      recording.hearBell()
    }
    for recording in recordings {
      recording.verifyWhenDue()
      recording.takePicturesWhenDue()
    }
    if count <= 0 { return }
    // Hellos first: a program that has just begun and ended is still recorded.
    if polled[1].revents != 0 { serveAll() }
    if polled[0].revents != 0, signals.relay(to: signalTarget) { reap() }
    for (index, recording) in watched.enumerated() where polled[index + 2].revents != 0 { processEnded(recording) }
  }

  /// The program while it lives, then the recorded process that outlives it.
  private var signalTarget: Int32? { programEnd == nil ? program : recordings.first?.pid }

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
        if let ended = recording(of: pid) { end(ended, waitStatus: status) }
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

  private func processEnded(_ recording: Recording) {
    // A child's status comes with SIGCHLD; of a process further down only the end is known.
    reap()
    guard recordings.contains(where: { $0 === recording }) else { return }
    if recording.pid != program || programEnd != nil { end(recording, waitStatus: nil) }
  }

  // MARK: Recordings

  func recording(of pid: Int32) -> Recording? { recordings.first { $0.pid == pid } }

  /// A file for the next recording: the one that was opened first, or another.
  private func nextFile() throws -> TraceFile {
    if let file = spare {
      spare = nil
      return file
    }
    return try TraceFile(in: name)
  }

  /// Begins to record a process that said hello. Throws why it cannot be.
  func beginRecording(of process: RecordedProcess) throws -> Recording {
    var unused = process.fork
    defer { lifespan_drain_destroy(unused?.drain) }
    let file = try nextFile()
    do {
      // A later trace of the same session never replaces an earlier one, whatever --force says.
      let wanted = name.path(program: process.facts.executable, pid: process.pid)
      let taken = finished.map(\.path) + recordings.map(\.file.path)
      try file.rename(to: wanted, force: options.force && !taken.contains(wanted))
      begun += 1
      unused = nil
      let made = try Recording(process, number: begun, options: options, file: file)
      try made.start()
      recordings.append(made)
      return made
    } catch {
      file.discard()
      throw error
    }
  }

  /// Ends a recording; its trace stays, as long as no better one comes.
  func end(_ recording: Recording, waitStatus: Int32?) {
    recordings.removeAll { $0 === recording }
    var ended = recording.finish(waitStatus: waitStatus)
    forks += ended.forks
    ended.forks = []
    finished.append(ended)
    keepOneBelowAWrapper()
  }

  /// Ends a recording whose process turned out not to be the program: the recorder there goes silent, no trace stays.
  func dismiss(_ recording: Recording) {
    recordings.removeAll { $0 === recording }
    recording.dismiss()
  }

  /// A recording of this standing begins: lesser ones were not the program.
  func dismissAll(below standing: RecordingChoice.Standing) {
    for recording in recordings where recording.standing < standing { dismiss(recording) }
    for trace in finished where trace.standing < standing && trace.began { unlink(trace.path) }
    finished.removeAll { $0.standing < standing }
  }

  /// Of the programs that a wrapper started one after another the one that did most is what it was started for.
  private func keepOneBelowAWrapper() {
    let rivals = finished.filter { $0.standing == .below && $0.began }
    guard let best = rivals.max(by: { $0.counts.events < $1.counts.events }), rivals.count > 1 else { return }
    for trace in rivals where trace.path != best.path { unlink(trace.path) }
    finished.removeAll { $0.standing == .below && $0.path != best.path }
    // It had to give way to one that has gone now.
    for freed in rivals.map(\.path) where best.path == OutputName.numbered(freed, 2) {
      guard session_rename_new(best.path, freed) == 0 else { continue }
      finished.indices.filter { finished[$0].path == best.path }.forEach { finished[$0].path = freed }
    }
  }
}
