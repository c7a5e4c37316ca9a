// What was chosen by the shared options: which rows, in which form. Used by every reading subcommand.
import Glibc
import LifespanAnalysis
import LifespanReport
import LifespanSymbols
import LifespanTrace

/// The parsed shared options of a reading subcommand.
struct ReadingOptions {
  var report: ReportOptions
  let lifespan: LifespanFilter
  let laterMarks: [LaterMark]
  let types: TypeFilter
  /// Where the files that ran and their debug files lie now.
  let symbols: SymbolPlaces
  /// Blocks of malloc by who allocates them. Asked for by the name of such a row, too.
  let blocksByOwner: Bool

  /// `columnKeys`: what this command's `--columns` and `--sort` take.
  init(_ arguments: ParsedArguments, columnKeys: [String]) throws {
    report = try Self.report(arguments, columnKeys)
    lifespan = arguments.value("--lifespan").flatMap(LifespanFilter.init(rawValue:)) ?? .living
    symbols = SymbolPlaces(
      folders: try Self.folders(arguments, "--symbols"), sysroots: try Self.folders(arguments, "--sysroot"),
      debugPaths: try Self.folders(arguments, "--debug-path"))
    laterMarks = try arguments.values("--mark-at").map(Self.laterMark)
    let kinds = try Self.words(arguments.value("--kind")).map { word in
      guard let kind = ObjectKind(word: word) else {
        let known = ObjectKind.known.map(\.description).joined(separator: ", ")
        throw UsageError.badValue(option: "--kind", value: word, expected: known)
      }
      return kind
    }
    types = TypeFilter(
      include: arguments.values("--type"), exclude: arguments.values("--exclude-type"), kinds: kinds,
      modules: arguments.values("--module"))
    let names = types.include + types.exclude
    blocksByOwner =
      arguments.value("--malloc-by").map { $0 == "caller" } ?? names.contains { $0.hasPrefix("malloc in ") }
  }

  /// Whether only some types are asked for.
  var isFiltered: Bool { types != TypeFilter() }

  private static func report(_ arguments: ParsedArguments, _ keys: [String]) throws -> ReportOptions {
    let format = arguments.value("--format").flatMap(ReportFormat.init(rawValue:))
    if arguments.has("--json"), let format, format != .json {
      throw UsageError.badValue(option: "--format", value: format.rawValue, expected: "json, as --json is given")
    }
    let columns = try arguments.value("--columns").map { text in
      try words(text).map { try column($0, "--columns", keys) }
    }
    return ReportOptions(
      format: arguments.has("--json") ? .json : format ?? .table, columns: columns,
      sort: try arguments.value("--sort").map { try column($0, "--sort", keys) },
      limit: try arguments.value("--limit", expected: "a number of rows, at least 1") {
        ValueParser.count($0).flatMap { Int(exactly: $0) }.flatMap { $0 > 0 ? $0 : nil }
      },
      style: TextStyle(
        usesColor: color(arguments.value("--color")), terminalWidth: Terminal.width(of: StandardStreams.report)))
  }

  private static func color(_ choice: String?) -> Bool {
    switch choice {
    case "always": return true
    case "never": return false
    default:
      let terminal = getenv("TERM").map { String(cString: $0) } ?? "dumb"
      return isatty(StandardStreams.report) == 1 && terminal != "dumb" && getenv("NO_COLOR") == nil
    }
  }

  private static func folders(_ arguments: ParsedArguments, _ option: String) throws -> [String] {
    try arguments.values(option).map { path in
      var status = stat()
      guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
        throw UsageError.badValue(option: option, value: path, expected: "a folder that is there")
      }
      return path
    }
  }

  /// `persistent-count` is taken for `persistent_count`, and `temporary` for the one column that begins with it.
  private static func column(_ word: String, _ option: String, _ keys: [String]) throws -> String {
    let typed = word.replacing("-", with: "_")
    let longer = keys.filter { $0.hasPrefix(typed + "_") }
    guard let key = keys.contains(typed) ? typed : longer.count == 1 ? longer.first : nil else {
      throw UsageError.badValue(option: option, value: word, expected: keys.joined(separator: ", "))
    }
    return key
  }

  private static func laterMark(_ text: String) throws -> LaterMark {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard let time = ValueParser.time(String(parts[0])).flatMap({ Int64(exactly: $0) }) else {
      throw UsageError.badValue(option: "--mark-at", value: text, expected: ValueParser.timeForm + ", then :NAME")
    }
    return LaterMark(time: TraceTime(time), name: parts.count > 1 ? String(parts[1]) : "")
  }

  private static func words(_ list: String?) -> [String] {
    (list ?? "").split(separator: ",").map { String($0).trimmed }
  }
}

extension String {
  /// Without blanks at both ends.
  fileprivate var trimmed: String {
    var text = self[...]
    while text.first == " " { text.removeFirst() }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}
