// What `lifespan record` was asked for, checked. Made from ParsedArguments by RecordCommand, read by the rest of Record/.

import CTraceFormat
import Glibc

/// The options of one `record`.
struct RecordOptions: Sendable {
  static let defaultDepth: UInt32 = 256
  /// Frames kept: what a walk can hold at most.
  static let depthLimit: UInt64 = 1024
  static let defaultBuffer: UInt64 = 4 << 20
  static let bufferRange: ClosedRange<UInt64> = (64 << 10)...(4 << 30)

  var output: String?
  var force = false
  var refcounts = false
  /// `+PATTERN` and `-PATTERN` lines in the order given; the last match wins.
  var rules = ""
  var unwindName = "auto"
  var depth = RecordOptions.defaultDepth
  var buffer = RecordOptions.defaultBuffer
  var whenFull = LIFESPAN_FULL_WAIT
  var exactTime = false
  /// Events of what died are discarded.
  var keepsLiving = false
  /// Bytes that a trace never exceeds; 0 none.
  var maxSize: UInt64 = 0
  var paused = false
  var markSignal: Int32 = 0
  var deathStacks = false
  var checkEvery: UInt32 = 0
  var printStatistics = false
  /// Swift objects alone, no blocks of malloc.
  var swiftOnly = false
  /// Regions that the program maps.
  var regions = false
  /// --rings: where the rings lie that survive; with patterns as -o.
  var rings: String?
  /// Every process of the tree gets a trace of its own.
  var children = false
  /// --leaks: a picture of the heap at the program's end.
  var leaks = false
  /// `doctor --refcounts`: counts are compared with the runtime's, so often; nil: they are not.
  var verifyMilliseconds: Int32?
  /// As typed, for the trace's INFO.
  var asTyped = ""
  var program: [String] = []

  init(_ arguments: ParsedArguments) throws {
    output = arguments.value("-o")
    if output == "" { throw UsageError.badValue(option: "-o", value: "", expected: "a file name") }
    force = arguments.has("--force")
    refcounts = arguments.value("--events") == "refcounts"
    rules = try Self.rules(arguments)
    unwindName = arguments.value("--unwind") ?? "auto"
    depth = UInt32(try Self.number(arguments, "--depth", 1...Self.depthLimit) ?? UInt64(Self.defaultDepth))
    buffer = try Self.bufferBytes(arguments)
    whenFull = arguments.value("--when-full") == "drop" ? LIFESPAN_FULL_DROP : LIFESPAN_FULL_WAIT
    keepsLiving = arguments.value("--keep") == "living"
    maxSize = try Self.sizeLimit(arguments)
    exactTime = arguments.value("--time") == "exact"
    paused = arguments.has("--paused")
    markSignal = try arguments.value("--mark-signal", expected: SignalName.form, SignalName.number) ?? 0
    deathStacks = arguments.has("--death-stacks")
    checkEvery = UInt32(try Self.number(arguments, "--check-unwind", 1...UInt64(UInt32.max)) ?? 0)
    printStatistics = arguments.has("--stats")
    swiftOnly = arguments.has("--swift-only")
    regions = arguments.has("--vm")
    if regions, swiftOnly { throw UsageError.excluded("--vm", by: "--swift-only") }
    children = arguments.has("--children")
    leaks = arguments.has("--leaks")
    rings = arguments.value("--rings")
    if rings == "" { throw UsageError.badValue(option: "--rings", value: "", expected: "a file name") }
    asTyped = arguments.given.map { $0.value.isEmpty ? $0.name : $0.name + " " + ShellWord.quoted($0.value) }
      .joined(separator: " ")
    program = arguments.operands
  }

  private static let unwindModes = [
    "auto": LIFESPAN_UNWIND_AUTO, "fp": LIFESPAN_UNWIND_FP, "libunwind": LIFESPAN_UNWIND_LIBUNWIND,
    "none": LIFESPAN_UNWIND_NONE,
  ]

  private static func number(
    _ arguments: ParsedArguments, _ name: String, _ range: ClosedRange<UInt64>
  ) throws -> UInt64? {
    try arguments.value(name, expected: "a number from \(range.lowerBound) to \(range.upperBound)") {
      ValueParser.count($0).flatMap { range.contains($0) ? $0 : nil }
    }
  }

  private static func bufferBytes(_ arguments: ParsedArguments) throws -> UInt64 {
    let bytes = try arguments.value("--buffer", expected: ValueParser.bytesForm + ", from 64K to 4G") {
      ValueParser.bytes($0).flatMap { bufferRange.contains($0) ? $0 : nil }
    }
    return bytes ?? defaultBuffer
  }

  /// Below a megabyte there is no room for the tables that every trace has.
  private static func sizeLimit(_ arguments: ParsedArguments) throws -> UInt64 {
    try arguments.value("--max-size", expected: ValueParser.bytesForm + ", at least 1M") {
      ValueParser.bytes($0).flatMap { $0 >= 1 << 20 ? $0 : nil }
    } ?? 0
  }

  private static func rules(_ arguments: ParsedArguments) throws -> String {
    var text = ""
    for given in arguments.inOrder("--record", "--ignore") {
      guard !given.value.isEmpty, !given.value.contains("\n"), !given.value.contains("\0") else {
        throw UsageError.badValue(option: given.name, value: given.value, expected: "a pattern of type names")
      }
      text += (given.name == "--record" ? "+" : "-") + given.value + "\n"
    }
    let room = MemoryLayout.size(ofValue: lifespan_options().rules)
    guard text.utf8.count < room else {
      throw UsageError.badValue(
        option: "--record/--ignore", value: "\(text.utf8.count) bytes of patterns", expected: "less than \(room)")
    }
    return text
  }

  /// As the recorder reads them from the mapping.
  func forMapping() -> lifespan_options {
    var options = lifespan_options()
    options.scope = UInt32(LIFESPAN_SCOPE_SWIFT.rawValue)
    options.refcounts = refcounts ? 1 : 0
    options.unwind = (Self.unwindModes[unwindName] ?? LIFESPAN_UNWIND_AUTO).rawValue
    options.depth = depth
    options.malloc_blocks = swiftOnly ? 0 : 1
    options.vm = regions ? 1 : 0
    options.when_full = whenFull.rawValue
    options.paused = paused ? 1 : 0
    options.death_stacks = deathStacks ? 1 : 0
    options.check_every = checkEvery
    options.children = children ? 1 : 0
    options.rings_file = rings == nil ? 0 : 1
    options.mark_signal = UInt32(markSignal)
    options.leaks = leaks ? 1 : 0
    options.verify = verifyMilliseconds == nil ? 0 : 1
    options.rules_length = UInt32(rules.utf8.count)
    withUnsafeMutableBytes(of: &options.rules) { $0.copyBytes(from: rules.utf8) }
    return options
  }
}
