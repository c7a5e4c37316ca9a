// Decides which process of the tree is the program: the first with a Swift runtime, but below `swift run` and `swift test`
// the user's own. Asked by RecordSession for every process that says hello.

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

  enum Decision: Equatable, Sendable {
    case record
    /// Stay inert, children are asked again.
    case pass
    /// Stay inert, and so do the children.
    case off
  }

  private(set) var command: PackageCommand?
  /// The process that was recorded last: what it executes in its own place goes on in a new trace.
  private var lastRecorded: Int32?
  /// `swift test` runs the bundle once for each testing library, or once for each test: one trace a library.
  private var recordedLibraries: Set<Bool> = []

  /// `recording`: the process that is recorded now; `hasRuntime`: what the process says of itself.
  mutating func decide(pid: Int32, facts: ProcessFacts, hasRuntime: Bool, recording: Int32?) -> Decision {
    if lastRecorded == nil, command == nil { command = Self.packageCommand(pid: pid, facts: facts) }
    // A child of the recorded program, or another one beside it.
    if let recording, recording != pid { return .off }
    guard hasRuntime, isWanted(pid: pid, facts: facts) else { return .pass }
    lastRecorded = pid
    recordedLibraries.insert(Self.isSwiftTesting(facts))
    return .record
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
