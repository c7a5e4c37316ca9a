// Statistics summed up otherwise than by type: by module, package, source file, thread, size or who allocated. A part of the
// stats report.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// By what the rows of statistics are summed up.
public enum Grouping: String, Sendable, CaseIterable {
  /// By type: no groups.
  case type
  /// By the module that a type is declared in.
  case module
  /// By the package whose code allocated, told by its files' paths.
  case package
  /// By the source file whose code allocated.
  case file
  /// By the thread that allocated.
  case thread
  /// By size, a row for each power of two.
  case size
  /// By the function that allocated: the first outside of the runtime, allocators and the system.
  case caller

  /// What AllocationSitesQuestion has to keep apart for it.
  public var split: SiteSplit {
    switch self {
    case .thread: .threads
    case .size: .sizes
    default: []
    }
  }

  var title: String {
    switch self {
    case .type: "Type"
    case .module: "Module"
    case .package: "Package"
    case .file: "Source file"
    case .thread: "Thread"
    case .size: "Size"
    case .caller: "Responsible caller"
    }
  }

  var words: String {
    switch self {
    case .type, .size: rawValue
    case .module: "the types' module"
    case .package: "the package that allocated"
    case .file: "the source file that allocated"
    case .thread: "the thread that allocated"
    case .caller: "responsible caller"
    }
  }
}

/// The same objects as Statistics has, summed up in other rows. Each object is in one row: where what is asked for is not
/// known of it, in one that says so.
public struct StatisticsGroups {
  struct Row {
    let name: String
    /// A thread's number, the largest size in a row; nil of others.
    let number: Int64?
    /// False: the row of those of which it is not known.
    let isKnown: Bool
    var tally: Tally
  }

  private struct Key: Hashable {
    var name: String
    var number: Int64?
    var isKnown = true
  }

  let grouping: Grouping
  private(set) var rows: [Row]

  /// Groups an answer of `lifespan` all; `lifespan` chooses the rows. `threads`: their names.
  public init(
    _ sites: AllocationSites, by grouping: Grouping, lifespan: LifespanFilter, threads: ThreadList?, names: ReportNames
  ) {
    self.grouping = grouping
    let namer = Namer(grouping, threads, names)
    var sums: [Key: Tally] = [:]
    for row in sites.rows { sums[namer.key(row), default: Tally()] += row.tally }
    for row in sites.discarded {
      let key = namer.discarded(row.type)
      sums[key, default: Tally()] += row.tally
      // Of these it is not known.
      sums[key]?.temporaryCount = nil
      sums[key]?.lifetimes = nil
    }
    rows = sums.filter { lifespan.keeps($0.value) }
      .map { Row(name: $0.key.name, number: $0.key.number, isKnown: $0.key.isKnown, tally: $0.value) }
      .sorted { one, other in
        if grouping == .size, one.number != other.number { return one.number ?? .max < other.number ?? .max }
        let left = (other.tally.persistentBytes, other.tally.totalBytes, other.tally.totalCount, one.name)
        let right = (one.tally.persistentBytes, one.tally.totalBytes, one.tally.totalCount, other.name)
        return left < right
      }
  }

  /// Says in which row something belongs.
  private final class Namer {
    private let grouping: Grouping
    private let names: ReportNames
    private let threads: ThreadNames
    // A stack has many types and sizes.
    private var stacks: [StackID: Key] = [:]

    init(_ grouping: Grouping, _ threads: ThreadList?, _ names: ReportNames) {
      self.grouping = grouping
      self.names = names
      self.threads = ThreadNames(threads)
    }

    func key(_ row: AllocationSites.Row) -> Key {
      switch grouping {
      case .type: return Key(name: names.name(of: row.type))
      case .module: return module(row.type)
      case .thread: return thread(row.thread ?? .unknown)
      case .size: return Self.size(row.size?.rawValue ?? 0)
      case .package, .file, .caller:
        if let known = stacks[row.stack] { return known }
        let key = place(row.stack)
        stacks[row.stack] = key
        return key
      }
    }

    func discarded(_ type: TypeIdentity) -> Key {
      switch grouping {
      case .type, .module: key(AllocationSites.Row(type: type, stack: .none, tally: Tally()))
      default: Key(name: "(discarded while recording)", isKnown: false)
      }
    }

    private func module(_ type: TypeIdentity) -> Key {
      let module = names.module(of: type)
      return module.isEmpty ? Key(name: "(no module: \(type.kind))", isKnown: false) : Key(name: module)
    }

    private func thread(_ thread: ThreadID) -> Key {
      let isKnown = thread != .unknown
      return Key(name: threads.name(of: thread), number: isKnown ? Int64(thread.rawValue) : nil, isKnown: isKnown)
    }

    /// 0, up to 16, up to 32 …
    private static func size(_ size: Int64) -> Key {
      guard size > 0 else { return Key(name: "0 B", number: 0) }
      guard size <= 1 << 40 else { return Key(name: "more than 1 TiB", number: .max) }
      var most: Int64 = 16
      while most < size { most <<= 1 }
      let units = ["B", "KiB", "MiB", "GiB", "TiB"]
      var (value, unit) = (most, 0)
      while value >= 1024 {
        value >>= 10
        unit += 1
      }
      return Key(name: "up to \(value) \(units[unit])", number: most)
    }

    private func place(_ stack: StackID) -> Key {
      guard stack.isNode, let frame = names.responsibleFrame(of: stack, withLines: grouping != .caller) else {
        return Key(name: "(\(names.ending(of: stack) ?? "no stack was recorded"))", isKnown: false)
      }
      if frame.origin != .program { return Key(name: "(runtime and system functions alone)", isKnown: false) }
      if grouping == .caller { return Key(name: "\(ReportNames.unspecialized(frame)) [\(frame.module)]") }
      guard let file = frame.file else {
        return Key(name: "(no line table says: \(frame.module))", isKnown: false)
      }
      if grouping == .file { return Key(name: file) }
      return PackageName.of(file: file).map { Key(name: $0) } ?? Key(name: "(in no package's folder)", isKnown: false)
    }
  }
}

/// A package's name by the path of one of its files.
enum PackageName {
  /// The folder below `checkouts`, where packages lie that others use, else the one that holds `Sources`, `Tests` or `Plugins`;
  /// nil where there is none.
  static func of(file: String) -> String? {
    let parts = file.split(separator: "/").map(String.init)
    // The last part is the file.
    if let place = parts.dropLast().lastIndex(of: "checkouts"), place + 2 < parts.count { return parts[place + 1] }
    let folders = parts.dropLast()
    let place = folders.lastIndex(of: "Sources") ?? folders.lastIndex { $0 == "Tests" || $0 == "Plugins" }
    guard let place, place > 0 else { return nil }
    return parts[place - 1]
  }
}
