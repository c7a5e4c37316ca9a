// `lifespan doctor --refcounts -- PROGRAM [ARG…]`: runs a program under recording and compares the recorded reference count of every living
// object with the runtime's own, again and again. Called by DoctorCommand.

import CSession
import Glibc
import LifespanReport

enum RefcountDoctor {
  static let options: [OptionSpec] = [
    .flag(
      "--refcounts",
      help: "run PROGRAM and compare every living object's recorded reference count with the runtime's own"),
    .option("--every", value: "TIME", help: "with --refcounts: how often; default 50ms"),
    .option(
      "--record", value: "PATTERN", repeatable: true,
      help: "with --refcounts: types to record; with --ignore in order, last match wins"),
    .option("--ignore", value: "PATTERN", repeatable: true, help: "with --refcounts: types to leave out"),
    .option("-o", "--output", value: "FILE", help: "with --refcounts: keep the trace, for lifespan history"),
  ]

  static let discussion = """
    --refcounts: at quiet moments all threads are stopped, none of them inside a retain or release, and
    what they wrote is taken in; then every living object is compared. Such moments come every --every,
    at each lifespan_mark_generation, which waits for it, and when PROGRAM ends by itself, after its
    exit handlers. What PROGRAM prints goes to stderr.
    exit status: 0 all counts were exact, 1 some were not, 2 nothing could be compared.
    """

  /// Options that mean nothing without --refcounts.
  static func checkUnused(_ arguments: ParsedArguments) throws {
    for option in options where option.name != "--refcounts" && arguments.has(option.name) {
      throw UsageError.badOperand(option.name, expected: "--refcounts with it")
    }
  }

  static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    guard !arguments.operands.isEmpty else { throw UsageError.missingOperand("--refcounts -- PROGRAM [ARG…]") }
    let every = try arguments.value("--every", expected: ValueParser.timeForm) { ValueParser.time($0) }
    var options = try RecordOptions(arguments)
    options.refcounts = true
    options.verifyMilliseconds = Int32(clamping: (every ?? 50_000_000) / 1_000_000)
    let folder = try arguments.value("-o") == nil ? TemporaryFolder() : nil
    defer { folder?.remove() }
    if let folder { options.output = folder.path + "/%p.lifespan" }
    let (session, end) = try RecordCommand.session(options, stdoutToStderr: true)
    let report = try RefcountReport(session, end: end, isKept: folder == nil)
    StandardStreams.printText(arguments.has("--json") ? report.json : report.text)
    if report.moments == 0 { return .unusable }
    return report.isExact ? .success : .limitPassed
  }
}

/// A folder for a trace that nobody keeps.
private struct TemporaryFolder {
  let path: String

  init() throws {
    let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array((parent + "/lifespan-XXXXXX").utf8CString)
    guard mkdtemp(&template) != nil else {
      throw CommandFailure("cannot make a folder in \(parent): \(SystemError.text(errno))")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  func remove() {
    guard let folder = opendir(path) else { return }
    while let entry = readdir(folder) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      if name != ".", name != ".." { unlink(path + "/" + name) }
    }
    closedir(folder)
    rmdir(path)
  }
}
