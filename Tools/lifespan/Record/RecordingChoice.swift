// Decides which process of the tree is the program: the first with a Swift runtime, but below `swift run` and `swift test`
// the user's own; where none has one, PROGRAM itself or what it was started for. Asked by RecordSession for every process
// that says hello. Pure: tested without processes.

/// Which process is recorded.
struct RecordingChoice: Sendable {
  /// What a package command is for, seen from the words of its own process.
  enum PackageCommand: Equatable, Sendable {
    /// `swift run`: the product that it executes in its own place.
    case run(pid: Int32)
    /// `swift test`: the test bundles that it starts, one after another.
    case test
    /// `swift build`, `swift package …`: the package manager itself.
    case tool(pid: Int32)
  }

  /// What a process says of its Swift runtime.
  enum Runtime: Equatable, Sendable {
    case none, hooked, unhookable
  }

  /// How good a claim a recording has to be the program's. A better one that begins ends all lesser ones, and their traces go.
  enum Standing: Int, Comparable, Sendable {
    /// A program that only starts another, as long as that other has not turned up.
    case wrapper
    /// A program without a Swift runtime that a wrapper started as a child.
    case below
    /// PROGRAM, or what runs in its own place, without a Swift runtime.
    case own
    /// It has a Swift runtime, or --children records every process.
    case program

    static func < (a: Standing, b: Standing) -> Bool { a.rawValue < b.rawValue }
  }

  enum Decision: Equatable, Sendable {
    case record(Standing)
    /// Stay inert, children are asked again.
    case pass
    /// Stay inert, and so do the children.
    case off
  }

  /// False with --swift-only: processes without a Swift runtime are not recorded.
  let blocks: Bool
  /// Every process gets a trace of its own.
  let children: Bool
  private(set) var command: PackageCommand?
  /// The process with a Swift runtime that was recorded last: what it executes in its own place goes on in a new trace.
  private var lastRecorded: Int32?
  /// `swift test` runs the bundle once for each testing library, or once for each test: one trace a library.
  private var recordedLibraries: Set<Bool> = []
  /// The first process that said hello, and whether what it runs now only starts another.
  private var first: Int32?
  private var firstWraps = false
  /// Others than what it executes in its own place.
  private var startedOthers = false

  init(blocks: Bool = true, children: Bool = false) {
    self.blocks = blocks
    self.children = children
  }

  /// `running`: the recordings that run now, by process.
  mutating func decide(
    pid: Int32, facts: ProcessFacts, runtime: Runtime, running: [Int32: Standing] = [:]
  ) -> Decision {
    if first == nil { first = pid }
    if children { return runtime == .hooked || blocks ? .record(.program) : .pass }
    if lastRecorded == nil, command == nil { command = Self.packageCommand(pid: pid, facts: facts) }
    // A child of the recorded program, or another one beside it.
    if running.contains(where: { $0.value == .program && $0.key != pid }) { return .off }
    if runtime == .hooked || (runtime == .unhookable && blocks) {
      guard isWanted(pid: pid, facts: facts) else { return .pass }
      return noted(pid, facts)
    }
    return withoutRuntime(pid: pid, facts: facts, running: running)
  }

  /// A recording that began without a Swift runtime has one now.
  mutating func becameProgram(pid: Int32) {
    if lastRecorded == nil { lastRecorded = pid }
  }

  private mutating func noted(_ pid: Int32, _ facts: ProcessFacts) -> Decision {
    lastRecorded = pid
    recordedLibraries.insert(Self.isSwiftTesting(facts))
    return .record(.program)
  }

  private mutating func withoutRuntime(pid: Int32, facts: ProcessFacts, running: [Int32: Standing]) -> Decision {
    guard blocks, lastRecorded == nil, command == nil else { return .pass }
    let wraps = WrapperPrograms.contains(facts)
    if pid == first {
      if !startedOthers { firstWraps = wraps }
      // A shell executes the last command of its string in its own place: one of several.
      return .record(wraps ? .wrapper : startedOthers ? .below : .own)
    }
    guard firstWraps, !wraps else { return .pass }
    // One at a time; of those that come one after another the session keeps the one that did most.
    let another = running.contains { $0.value == .below && $0.key != pid }
    if !another { startedOthers = true }
    return another ? .pass : .record(.below)
  }

  /// Whether what ran before the next image of a process was only the way there (a shim, a launcher, a shell's script that
  /// ends in `exec`), not a program of its own: then no trace of it stays. A program that has run for ten seconds is no shim,
  /// nor is one in which somebody has set a mark.
  static func isPassage(_ facts: ProcessFacts, _ standing: Standing, marks: UInt64, nanoseconds: UInt64) -> Bool {
    guard standing < .program, marks == 0 else { return standing == .wrapper }
    return standing == .wrapper || WrapperPrograms.contains(facts) || WrapperPrograms.isShell(facts)
      || nanoseconds < 10_000_000_000
  }

  private func isWanted(pid: Int32, facts: ProcessFacts) -> Bool {
    switch command {
    case nil: return lastRecorded == nil || lastRecorded == pid
    case .tool(let tool): return pid == tool && !Self.isDriver(facts)
    case .run(let runner): return pid == runner && !Self.isToolchain(facts.executable)
    case .test:
      // Not the manifest, not plugins, not macros, not the list of tests that is asked for first.
      guard facts.name.hasSuffix(".xctest") || facts.name == "swiftpm-testing-helper" else { return false }
      if facts.arguments.contains("--dump-tests-json") || facts.arguments.contains("--list-tests") { return false }
      return lastRecorded == pid || !recordedLibraries.contains(Self.isSwiftTesting(facts))
    }
  }

  private static func isSwiftTesting(_ facts: ProcessFacts) -> Bool { facts.arguments.contains("swift-testing") }

  /// What `swift run`, `swift-test` and the like are for; nil for any other process.
  static func packageCommand(pid: Int32, facts: ProcessFacts) -> PackageCommand? {
    guard isToolchain(facts.executable), let first = facts.arguments.first else { return nil }
    let called = first.split(separator: "/").last.map(String.init) ?? first
    let verb = called == "swift" ? facts.arguments.dropFirst().first ?? "" : String(called.dropFirst("swift-".count))
    guard called == "swift" || called.hasPrefix("swift-") else { return nil }
    switch verb {
    case "run": return .run(pid: pid)
    case "test": return .test
    case "build", "package": return .tool(pid: pid)
    default: return nil
    }
  }

  /// `swift` alone is the compiler driver; it only starts what the verb names.
  private static func isDriver(_ facts: ProcessFacts) -> Bool {
    facts.name == "swift-driver" || facts.name == "swift-frontend" || facts.name == "swift"
  }

  /// A program of the toolchain's own usr/bin or usr/libexec: beside a compiler.
  static func isToolchain(_ executable: String) -> Bool {
    let names = ["swift", "clang", "lld", "lldb", "llvm", "docc", "sourcekit"]
    guard let slash = executable.lastIndex(of: "/") else { return false }
    let file = executable[executable.index(after: slash)...]
    let directory = executable[..<slash]
    guard names.contains(where: { file.hasPrefix($0) }) else { return false }
    return directory.hasSuffix("/usr/bin") || directory.contains("/usr/libexec/swift")
  }
}
