// Growth since a mark: the rows of `lifespan generations`.

extension Allocations {
  /// What was born after a mark and still lives.
  public struct Growth: Sendable, Hashable {
    /// One type's share.
    public struct Row: Sendable, Hashable {
      /// The type, as in ``StatisticsRow/type``.
      public let type: String
      /// What its objects are.
      public let kind: Kind?
      /// Objects born after the mark that live now.
      public let persistentCount: Int
      /// Bytes of their memory.
      public let persistentBytes: Int
    }

    /// By type, types of which nothing is left omitted; most bytes first, then by name.
    public let rows: [Row]
    /// Objects of all rows.
    public var persistentCount: Int { rows.reduce(0) { $0 + $1.persistentCount } }
    /// Bytes of all rows.
    public var growthBytes: Int { rows.reduce(0) { $0 + $1.persistentBytes } }

    /// The number of living objects of a type, by its name as the rows print it; 0 where it has no row.
    public func persistentCount(ofType name: String) -> Int {
      rows.reduce(0) { $1.type == name ? $0 + $1.persistentCount : $0 }
    }
  }
}

#if Recording
internal import CDrain

extension Allocations {
  /// What was born since a mark, in the generations after it, and lives now.
  ///
  /// - Throws: ``NotRecording`` where nothing is recorded now, or nothing was when the mark was set.
  ///
  /// Cost: what has been recorded since the last question, and one look at each type and generation.
  public static func growth(since mark: Mark) throws(NotRecording) -> Growth {
    try Door.checkRecording()
    guard let ticks = mark.ticks else { throw NotRecording(.unknownMark) }
    guard let closed = try generation(at: ticks) else { throw NotRecording(.unknownMark) }
    let (rows, table) = try rows(since: closed + 1)
    let sums = Sums(rows, table).rows
    return Growth(
      rows: sums.filter { LifespanFilter.living.keeps($0) }.map {
        Growth.Row(
          type: $0.type, kind: $0.kind, persistentCount: $0.persistentCount, persistentBytes: $0.persistentBytes)
      }.sorted { ($1.persistentBytes, $0.type) < ($0.persistentBytes, $1.type) })
  }

  /// The generation that a mark has closed. Allocates nothing: the growth is asked for afterwards.
  private static func generation(at ticks: UInt64) throws(NotRecording) -> UInt32? {
    let marks = try Door.ask(LIFESPAN_ASK_MARKS)
    return marks.withBytes { bytes in
      var closed: UInt32?
      bytes.forEachRow(of: lifespan_mark_row.self, textLength: { $0.name_length }) { row, _ in
        if row.ticks == ticks { closed = row.generation }
      }
      return closed
    }
  }
}
#endif
