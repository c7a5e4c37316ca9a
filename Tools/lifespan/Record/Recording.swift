// One process that is recorded into one trace: the mapping, the drain and its thread, the file. Made by RecordSession when a
// process says hello, finished when that process ends or executes another program.

import CDrain
import CSession
import Glibc
import LifespanTrace

/// The process that a recording is of, as it said hello.
struct RecordedProcess {
  let pid: Int32
  let facts: ProcessFacts
  var standing: RecordingChoice.Standing
  /// False: blocks of malloc alone, as long as no runtime comes by dlopen.
  let hasRuntime: Bool
  /// What its memory held when it was forked; nil: it was executed.
  var fork: ForkState?
}

/// What lives in a process at a fork. Whoever takes it out must give it to a recording.
struct ForkState {
  /// The parent's recording, and which of its forks.
  let recording: UInt32
  let number: UInt64
  let drain: OpaquePointer
}

/// A running recording.
final class Recording {
  private let process: RecordedProcess
  var pid: Int32 { process.pid }
  var facts: ProcessFacts { process.facts }
  /// It was forked, and nothing has been executed since.
  var isFork: Bool { process.fork != nil }
  /// In the session.
  let number: UInt32
  var standing: RecordingChoice.Standing
  let file: TraceFile
  /// Readable when the process has ended; -1: not to be had.
  let pidfd: Int32
  let mapping: Int32
  /// Rings when the program asks for its own heap; < 1: not to be had.
  let bell: Int32
  /// The mapping's file (--rings).
  private let ringsPath: String?
  private let options: RecordOptions
  private let map: OpaquePointer
  private let drain: OpaquePointer
  private var thread: OpaquePointer?
  private let compressor = TraceCompressor()
  private let sink: TraceSink
  /// Makes the file that takes the trace's place; nil where none ever does.
  private let next: OpaquePointer?
  /// Reference counts against the runtime's; nil: not asked for.
  let verifier: RefcountVerifier?
  /// Of its heap.
  let pictures: HeapPictures

  /// Makes the mapping and the drain; draining begins with `start`.
  init(_ process: RecordedProcess, number: UInt32, options: RecordOptions, file: TraceFile) throws {
    self.process = process
    self.number = number
    standing = process.standing
    self.file = file
    self.options = options
    bell = session_bell()
    pictures = HeapPictures(pid: process.pid, options: options)
    verifier = options.verifyMilliseconds.map { RefcountVerifier(pid: process.pid, milliseconds: $0) }
    var given = options.forMapping()
    var made: OpaquePointer?
    (mapping, ringsPath) = Self.makeMapping(process.pid, &given, options, &made)
    guard mapping >= 0, let made else {
      lifespan_drain_destroy(process.fork?.drain)
      if bell >= 0 { Glibc.close(bell) }
      let place = options.rings.map { "\($0): no rings there" } ?? "no shared memory for the recording"
      throw CommandFailure("\(place): \(SystemError.text(-mapping))")
    }
    map = made
    session_map_set_number(made, number)
    sink = TraceSink(file, isBounded: options.isBounded)
    next = options.isBounded ? session_next_create(file.path, file.descriptor) : nil
    var wanted = lifespan_drain_options()
    wanted.map = map
    wanted.file = mapping
    wanted.sink = TraceSink.callback
    wanted.sink_context = Unmanaged.passUnretained(sink).toOpaque()
    if let next { options.bound(&wanted, next) }
    wanted.compressor = TraceCompressor.callback
    wanted.compressor_context = Unmanaged.passUnretained(compressor).toOpaque()
    wanted.inherits = process.fork?.drain
    wanted.ticks_per_unit = options.exactTime ? 1 : 1024
    // Asked for by Allocations.history in a program that links the library.
    wanted.history_events = 65_536
    wanted.history_when_asked = 1
    // In another namespace its thread ids mean other threads here, or none: rings are then not taken back.
    wanted.process_tid_check = session_shares_pids(process.pid) ? 1 : 0
    wanted.look_file = max(0, bell)
    wanted.sample_pid = UInt32(process.pid)
    guard let drain = lifespan_drain_create(&wanted) else {
      let reason = SystemError.text(errno)
      session_map_close(made, mapping)
      session_next_destroy(next)
      if bell >= 0 { Glibc.close(bell) }
      throw CommandFailure("the recording cannot be drained: \(reason)")
    }
    self.drain = drain
    pidfd = max(-1, session_pidfd(process.pid))
    if let ringsPath { lifespan_drain_info(drain, "rings", ringsPath) }
    for (key, value) in Self.information(process.facts, options) { lifespan_drain_info(drain, key, value) }
  }

  /// In memory, or at a free name in the place of --rings.
  private static func makeMapping(
    _ pid: Int32, _ given: inout lifespan_options, _ options: RecordOptions, _ made: inout OpaquePointer?
  ) -> (descriptor: Int32, path: String?) {
    guard let pattern = options.rings else { return (session_map_create(&given, options.buffer, &made), nil) }
    let wanted = FilePath.absolute(OutputName(pattern: pattern).path(program: "", pid: pid))
    for number in 1...999 {
      let path = OutputName.numbered(wanted, number)
      let descriptor = session_map_create_at(path, &given, options.buffer, &made)
      if descriptor != -EEXIST { return (descriptor, path) }
    }
    return (-EEXIST, nil)
  }

  private static func information(_ facts: ProcessFacts, _ options: RecordOptions) -> [(String, String)] {
    [
      ("arguments", ShellWord.joined(facts.arguments)), ("recorder", Version.text), ("options", options.asTyped),
      ("host", OutputName(pattern: nil).host), ("refcounts", options.refcounts ? "all" : "tracked"),
      ("unwind", options.unwindName), ("recording", "all"),
    ]
  }

  func start() throws {
    thread = session_drain_start(drain, map)
    if thread == nil { throw CommandFailure("no thread to drain the recording: \(SystemError.text(errno))") }
  }

  /// Runs with the drain to itself.
  func withDrain<Result>(_ body: (OpaquePointer) -> Result) -> Result {
    if let thread { session_drain_lock(thread) }
    defer { if let thread { session_drain_unlock(thread) } }
    return body(drain)
  }

  /// The generation that the mark closes, and when it was set.
  func mark(_ name: String) -> Result<(number: UInt64, time: TraceTime), SessionError> {
    withDrain { drain in
      let number = lifespan_drain_mark(drain, name, name.utf8.count)
      guard number >= 0 else { return .failure(SessionError(code: Int32(-number))) }
      // Nobody sets another one meanwhile: the drain is ours.
      var counts = lifespan_drain_counts()
      lifespan_drain_counts(drain, &counts)
      return .success((UInt64(number), Self.time(counts.mark_ticks, counts)))
    }
  }

  /// Ticks since the start as the trace's reader counts them.
  static func time(_ ticks: UInt64, _ counts: lifespan_drain_counts) -> TraceTime {
    guard counts.ticks_per_second > 0 else { return .start }
    var header = TraceHeader()
    header.ticksPerSecond = counts.ticks_per_second
    return header.time(Ticks(Int64(clamping: ticks)))
  }

  var isOn: Bool { session_map_recording(map) }

  /// Goes on or pauses; the trace says when. Gives true when that changed something.
  func turn(on: Bool) -> Result<Bool, SessionError> {
    let result = withDrain { lifespan_drain_set_recording($0, on) }
    return result < 0 ? .failure(SessionError(code: -result)) : .success(result == 1)
  }

  /// True from when the program has taken the mapping.
  var hasBegun: Bool { session_map_state(map) != LIFESPAN_PROGRAM_NEW.rawValue }

  /// A Swift runtime was loaded after the start.
  var runtimeCameLate: Bool { session_map_runtime(map) == LIFESPAN_RUNTIME_LATE.rawValue }

  private var isEnding: Bool { session_map_state(map) == LIFESPAN_PROGRAM_ENDING.rawValue }

  /// What the recorder could not see and why; nil when the capture is complete.
  private var capture: String? {
    var room = [CChar](repeating: 0, count: 257)
    session_map_reason(map, &room, room.count)
    let reason = String(decoding: room.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    switch lifespan_capture(rawValue: session_map_capture(map)) {
    case LIFESPAN_CAPTURE_COMPLETE: return nil
    case LIFESPAN_CAPTURE_PARTIAL: return "partial (\(reason))"
    case LIFESPAN_CAPTURE_COUNTS: return "counts-only (\(reason))"
    default: return reason.isEmpty ? nil : reason
    }
  }

  /// Everything published by now stands in the file afterwards. Gives 0 or an errno value.
  func flush() -> Int32 {
    withDrain { drain in
      let consumed = lifespan_drain_round(drain)
      return consumed < 0 ? Int32(-consumed) : lifespan_drain_flush(drain)
    }
  }

  var counts: lifespan_drain_counts {
    withDrain { drain in
      var counts = lifespan_drain_counts()
      lifespan_drain_counts(drain, &counts)
      return counts
    }
  }

  /// Compares its reference counts where it is time to, or the program waits for that to end.
  func verifyWhenDue() {
    guard let verifier, hasBegun, verifier.isDue(drain) else { return }
    withDrain { verifier.look($0, isEnding: isEnding) }
  }

  /// The program has asked for its own heap (Allocations.leaks, holders).
  func hearBell() {
    session_bell_heard(bell)
    pictures.isAskedFor = true
  }

  /// Begins a picture of its heap where one is wanted, or the program waits for it to end; writes one that is ready.
  func takePicturesWhenDue() {
    guard hasBegun, options.leaks || pictures.isBusy else { return }
    if pictures.isReady { withDrain { pictures.write($0) } }
    if pictures.isDue(drain) { withDrain { pictures.begin($0) } }
  }

  /// Wishes for a picture of its heap (of the mark that was set last): the number that it will have.
  func wishForPicture(ofMark: Bool) -> UInt32 {
    let marks = counts.marks
    return pictures.wish(ofMark && marks > 0 ? .mark(Generation(UInt32(clamping: marks - 1))) : .request)
  }

  /// Its process executes another program now: what was recorded was only the way there.
  var wasPassage: Bool {
    let counts = self.counts
    let elapsed = Self.time(counts.elapsed_ticks, counts).rawValue
    return RecordingChoice.isPassage(
      facts, standing, marks: UInt64(counts.marks), nanoseconds: UInt64(clamping: elapsed))
  }

  /// Ends it. `waitStatus`: how the process ended as wait reports it, nil where only its own word is known.
  func finish(waitStatus: Int32?) -> FinishedRecording {
    pictures.abandon()
    var error = stopDraining()
    let clean = waitStatus.map { $0 & 0x7f == 0 } ?? isEnding
    let began = hasBegun
    let closing = began ? lifespan_drain_finish(drain, clean, waitStatus ?? 0) : 0
    if error == 0 { error = closing }
    // What could not be written is still in it.
    if error == 0, let ringsPath { unlink(ringsPath) }
    var counts = lifespan_drain_counts()
    lifespan_drain_counts(drain, &counts)
    var unbounded: Int32 = options.isBounded && next == nil ? ENOTDIR : 0
    if next != nil { _ = lifespan_drain_renewed(drain, &unbounded) }
    let capture = self.capture
    var equal: UInt64 = 0
    var guessed: UInt64 = 0
    let checked = session_map_checked(map, &equal, &guessed)
    if runtimeCameLate { standing = .program }
    let forks = leftForks()
    let isGone = began && !file.isInItsPlace
    let blocksAlone = session_map_runtime(map) == LIFESPAN_RUNTIME_NONE.rawValue
    close()
    if began { file.closeFile() } else { file.discard() }
    return FinishedRecording(
      path: file.path, program: facts.name, standing: standing, began: began, blocksAlone: blocksAlone,
      counts: counts, error: error, limitation: capture, unbounded: unbounded, stacksChecked: checked,
      stacksEqual: equal, stacksGuessed: guessed, isGone: isGone, forks: forks, verified: verifier?.findings,
      unpictured: options.leaks ? pictures.missing : nil)
  }

  /// Forks whose children have not said hello yet.
  private func leftForks() -> [ForkState] {
    var result: [ForkState] = []
    var forkNumber: UInt64 = 0
    while let state = lifespan_drain_left_fork(drain, &forkNumber) {
      result.append(ForkState(recording: number, number: forkNumber, drain: state))
    }
    return result
  }

  /// Ends it without a trace: the recorder in the process goes silent at once, and nobody waits for us.
  func dismiss() {
    session_map_dismiss(map)
    pictures.abandon()
    _ = stopDraining()
    session_map_release(map, mapping)
    if let ringsPath { unlink(ringsPath) }
    close()
    file.discard()
  }

  /// What the child of a fork holds; nil: that fork was not seen.
  func takeFork(_ number: UInt64) -> ForkState? {
    withDrain { lifespan_drain_take_fork($0, number) }
      .map { ForkState(recording: self.number, number: number, drain: $0) }
  }

  private func stopDraining() -> Int32 {
    guard let running = thread else { return 0 }
    thread = nil
    return abs(session_drain_stop(running))
  }

  private func close() {
    lifespan_drain_destroy(drain)
    session_map_leave(map)
    session_map_close(map, mapping)
    if pidfd >= 0 { Glibc.close(pidfd) }
    if bell >= 0 { Glibc.close(bell) }
    session_next_destroy(next)
  }
}

/// What is left of a recording.
struct FinishedRecording {
  var path: String
  let program: String
  let standing: RecordingChoice.Standing
  /// False: the process never took the mapping, and there is no file.
  let began: Bool
  /// There was no Swift runtime to the end.
  let blocksAlone: Bool
  let counts: lifespan_drain_counts
  /// errno of the first write that failed, 0 none.
  let error: Int32
  /// The capture and its reason where it is not complete.
  let limitation: String?
  /// errno of why the trace was not made anew any more, 0 it was; see `--keep living` and `--max-size`.
  let unbounded: Int32
  /// Stacks compared with libunwind's.
  let stacksChecked: UInt64
  /// Those of them that were equal.
  let stacksEqual: UInt64
  /// Others, which differ only from where libunwind guesses.
  let stacksGuessed: UInt64
  /// Its file was removed or renamed while recording.
  let isGone: Bool
  /// Of children that may still say hello.
  var forks: [ForkState] = []
  /// `doctor --refcounts`: what came out.
  var verified: RefcountFindings?
  /// --leaks: why there is no picture of the heap at its end; nil: there is one.
  var unpictured: String?
}
