// `lifespan record [options] -- PROGRAM [ARG…]`: checks everything that can be checked before the program starts, then lets
// RecordSession run it.

import CSession
import Glibc

enum RecordCommand {
  static let spec = CommandSpec(
    name: "record", usage: "[options] -- PROGRAM [ARG…]",
    summary: "run an unmodified program under recording", operands: .program, options: options,
    discussion: { discussion }, run: run)

  private static let options: [OptionSpec] = [
    .option(
      "-o", "--output", value: "FILE",
      help: "the trace: %p pid, %h host, %t time; default PROGRAM.PID.lifespan; a name that is taken gets -2, -3 …"),
    .flag("--force", help: "overwrite the trace"),
    .choice(
      "--events", of: ["allocations", "refcounts"],
      help: "refcounts: also every retain and release (Tracked types always record them)"),
    .option(
      "--record", value: "PATTERN", repeatable: true,
      help: "types to record; with --ignore in order, last match wins"),
    .option("--ignore", value: "PATTERN", repeatable: true, help: "types to leave out"),
    .flag("--swift-only", help: "no blocks of malloc that are no Swift objects"),
    .flag("--vm", help: "also the regions that the program maps (mmap), as rows of kind vm beside the heap"),
    .choice(
      "--keep", of: ["all", "living"],
      help: "living: discard events of what died, so that the trace follows what lives; default all"),
    .option(
      "--max-size", value: "BYTES",
      help: "the trace never exceeds this: the oldest events of what died go; while it is recorded a second file "
        + "of up to that size is beside it"),
    .choice("--unwind", of: ["auto", "fp", "libunwind", "none"], help: "how stacks are taken; default auto"),
    .option("--depth", value: "N", help: "frames kept of a stack; default \(RecordOptions.defaultDepth)"),
    .option("--buffer", value: "BYTES", help: "shared memory that is there before the program starts; default 4M"),
    .choice("--when-full", of: ["wait", "drop"], help: "a full buffer: wait, or drop and count; default wait"),
    .choice("--time", of: ["coarse", "exact"], help: "time of events, to 1,024 ticks or to one; default coarse"),
    .flag("--paused", help: "begin paused; lifespan start PID goes on"),
    .option("--mark-signal", value: "SIG", help: "the program marks a generation when it gets this signal"),
    .flag("--death-stacks", help: "also record where objects die"),
    .option("--check-unwind", value: "N", help: "compare every N-th stack with libunwind's"),
    .option(
      "--rings", value: "FILE",
      help: "keep what is not in the trace yet in a file: nothing is lost when program and command are killed at once"),
    .flag(
      "--leaks",
      help: "a picture of the heap when the program ends, for leaks and holders; new blocks are filled with zeros"),
    .flag("--children", help: "every process below the program gets a trace of its own"),
    .flag("--stats", help: "print statistics on stderr at the end"),
  ]

  private static var discussion: String {
    """
    PROGRAM is any dynamically linked executable, script or wrapper. The first process with a Swift
    runtime is recorded; below swift run and swift test that is your own program. Where none has one,
    PROGRAM itself is recorded for malloc, or what it executes in its own place: shims leave no trace.
    A wrapper (env, timeout, nice, xargs, sh -c …) stands for the program that it starts, of several
    the one with most events; a shell that runs a script is recorded itself. With --children every
    process is, each into a trace of its own.
    PATTERN is a glob of type names, in which only * is special.

    exit status: the program's own, 128+n when signal n killed it, 126 not executable, 127 not found,
    2 the trace cannot be written (before the program starts), 64 wrong usage.


    """ + EnvironmentVariable.paragraph
  }

  /// Standard streams, signals, socket, connection, trace, mapping, process, and two while a program is started.
  private static let descriptorsNeeded: UInt64 = 12

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let options = try RecordOptions(arguments)
    let (session, end) = try session(options)
    report(session)
    return .program(end)
  }

  /// Runs a program under recording; `stdoutToStderr`: what it prints is not the command's own output.
  static func session(_ options: RecordOptions, stdoutToStderr: Bool = false) throws -> (RecordSession, ProgramEnd) {
    session_fill_standard_descriptors()
    guard session_more_descriptors(descriptorsNeeded) == 0 else {
      throw CommandFailure(
        "fewer than \(descriptorsNeeded) files may be open at once here; ulimit -n \(descriptorsNeeded) allows more")
    }
    let typed = options.program.first ?? ""
    let lookup = try ProgramLookup(typed)
    let facts = ProgramFacts(path: lookup.path)
    let name = OutputName(pattern: options.output)
    try TraceFile.check(name)
    let spare = try TraceFile(in: name)
    let obstacle = facts.obstacle
    let session: RecordSession
    let environment: [String]
    do {
      // Made before any thread: the mask is inherited.
      let signals = try SignalRelay()
      let library = try obstacle == nil ? PreloadLibrary() : nil
      let server = try library == nil ? nil : SessionServer()
      environment = ProgramEnvironment.words(library: library?.path, socket: server?.path)
      session = RecordSession(options: options, name: name, spare: spare, server: server, signals: signals)
    } catch {
      spare.discard()
      throw error
    }
    session.isWarned = obstacle != nil
    if let obstacle {
      StandardStreams.errorLine("lifespan: \(typed) cannot be recorded: \(obstacle.reason); \(obstacle.cure)")
    }
    let launch = ProgramLaunch(
      path: lookup.path, words: options.program, environment: environment, stdoutToStderr: stdoutToStderr)
    return (session, try session.run(launch))
  }

  private static func report(_ session: RecordSession) {
    let typed = session.options.program.first ?? ""
    let line = ClosingLine.text(
      session.finished, problems: session.problems, program: typed, warned: session.isWarned)
    if let line { StandardStreams.errorLine(line) }
    guard session.options.printStatistics else { return }
    for trace in session.finished where trace.began { printStatistics(trace.path) }
  }
}
