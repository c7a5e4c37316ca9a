// Statistics by type: the rows of `lifespan stats`.

extension Allocations {
  /// What was recorded of one type since the start.
  public struct StatisticsRow: Sendable, Hashable {
    /// The type as Swift prints it with its module, private types by their plain names; for tokens the token's name.
    /// Closures, which have no names of their own, stand in one row.
    public let type: String
    /// What its objects are; nil: something that this version has no word for.
    public let kind: Kind?
    /// The module that the name begins with; empty where it has none.
    public let module: String
    /// Objects that live.
    public let persistentCount: Int
    /// Bytes of their memory, and of dead ones' that unowned references keep.
    public let persistentBytes: Int
    /// Objects that were born and have died.
    public let transientCount: Int
    /// Objects that were born.
    public let totalCount: Int
    /// Bytes of all that were born.
    public let totalBytes: Int
  }
}

#if Recording
internal import CDrain

extension Allocations {
  /// What was recorded since the start, by type.
  ///
  /// - Parameter filter: which types have a row: those of which anything was created, still lives, or was destroyed. A
  ///   row always has all columns.
  /// - Returns: the rows, most persistent bytes first (with `.all` and `.destroyed`: most bytes in total), then by
  ///   name.
  /// - Throws: ``NotRecording`` where nothing is recorded. After ``stop()`` it still answers.
  ///
  /// Cost: what has been recorded since the last question, and one look at each type.
  public static func statistics(_ filter: LifespanFilter = .living) throws(NotRecording) -> [StatisticsRow] {
    let (rows, table) = try rows(since: 0)
    var sums = Sums(rows, table).rows
    sums.removeAll { !filter.keeps($0) }
    return sums.sorted { left, right in
      let first = filter == .living ? left.persistentBytes : left.totalBytes
      let second = filter == .living ? right.persistentBytes : right.totalBytes
      return first != second ? first > second : left.type < right.type
    }
  }
}

extension Allocations.LifespanFilter {
  func keeps(_ row: Allocations.StatisticsRow) -> Bool {
    switch self {
    case .all: row.totalCount > 0
    case .living: row.persistentCount > 0 || row.persistentBytes > 0
    case .destroyed: row.transientCount > 0
    }
  }
}

/// Adds up the recorder's rows of one type (two ids where two threads met at its first object). Two private types of one
/// plain name stay two, as in the reports.
struct Sums {
  private struct Key: Hashable {
    var fullName: String
    var name: String
    var kind: Allocations.Kind?
  }

  private struct Sum {
    var livingCount: UInt64 = 0
    var livingBytes: UInt64 = 0
    var totalCount: UInt64 = 0
    var totalBytes: UInt64 = 0

    mutating func add(_ row: lifespan_row) {
      livingCount &+= row.living_count
      livingBytes &+= row.living_bytes
      totalCount &+= row.total_count
      totalBytes &+= row.total_bytes
    }
  }

  private var sums: [Key: Sum] = [:]

  init(_ rows: [lifespan_row], _ table: TypeTable) {
    for row in rows {
      let type = table.types[TypeID(rawValue: row.type)]
      let name = type?.rowName ?? "unknown"
      sums[Key(fullName: type?.fullName ?? "", name: name, kind: type?.kind), default: Sum()].add(row)
    }
  }

  var rows: [Allocations.StatisticsRow] {
    sums.map { key, sum in
      Allocations.StatisticsRow(
        type: key.name, kind: key.kind, module: RecordedType.module(of: key.name, key.kind),
        persistentCount: Int(clamping: sum.livingCount), persistentBytes: Int(clamping: sum.livingBytes),
        transientCount: Int(clamping: sum.totalCount) - Int(clamping: sum.livingCount),
        totalCount: Int(clamping: sum.totalCount), totalBytes: Int(clamping: sum.totalBytes))
    }
  }
}
#endif
