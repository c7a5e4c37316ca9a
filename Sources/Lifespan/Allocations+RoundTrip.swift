// One round: what lived before, what was born inside, what is left after. As `lifespan growth --round` does with a recording.

extension Allocations {
  /// What one round of work did to the heap.
  public struct RoundTrip: Sendable {
    /// One type's share.
    public struct Row: Sendable {
      /// The type, as in ``StatisticsRow/type``.
      public let type: String
      /// What its objects are.
      public let kind: Kind?
      /// Objects that lived when the round began.
      public let before: Int
      /// Objects that were born inside, by the round's own tasks or by anyone else meanwhile, and lived when it was over: suspects.
      public let inside: Int
      /// Bytes of these.
      public let insideBytes: Int
      /// Objects that lived when it was over.
      public let after: Int
      /// One suspect's number.
      public let example: Serial?
      /// Where that one was allocated, innermost first.
      public let allocatedBy: [ReturnAddress]
    }

    /// Types of which objects that were born inside live; most bytes first, then by name. One round is evidence, no verdict: a cache
    /// that was filled is among them.
    public let suspects: [Row]
    /// Why there is no answer, where nothing was recorded; nil otherwise.
    public let missing: NotRecording?
  }
}

#if Recording
internal import CDrain

extension Allocations {
  /// Runs one round of work (log in and out, open and close) and says what it left. Run it once before: what is made once is made then.
  ///
  /// Cost: two looks at all types, and one at all living objects.
  @discardableResult
  public static func roundTrip<Failure: Error>(
    of types: Types = .all, _ body: () throws(Failure) -> Void
  ) throws(Failure) -> RoundTrip {
    let round = Round(types)
    defer { round.scope?.forget() }
    try body()
    return round.result()
  }

  /// Runs one asynchronous round of work on the caller's actor and says what it left.
  @discardableResult
  public static func roundTrip<Failure: Error>(
    of types: Types = .all, isolation: isolated (any Actor)? = #isolation, _ body: () async throws(Failure) -> Void
  ) async throws(Failure) -> RoundTrip {
    let round = Round(types)
    defer { round.scope?.forget() }
    try await body()
    return round.result()
  }
}

private struct Round {
  let types: Allocations.Types
  var scope: TaskScope?
  var before: [UInt32: Int] = [:]
  var missing: Allocations.NotRecording?

  init(_ types: Allocations.Types) {
    self.types = types
    do throws(Allocations.NotRecording) {
      try types.checkRecorded()
      before = try Self.living()
      scope = try TaskScope(tallied: false)
    } catch {
      missing = error
    }
  }

  static func living() throws(Allocations.NotRecording) -> [UInt32: Int] {
    let (rows, _) = try Allocations.rows(since: 0)
    return rows.reduce(into: [:]) { $0[$1.type, default: 0] += Int(clamping: $1.living_count) }
  }

  func result() -> Allocations.RoundTrip {
    guard let scope else { return Allocations.RoundTrip(suspects: [], missing: missing) }
    do throws(Allocations.NotRecording) {
      scope.end()
      let inside = try scope.living()
      let after = try Self.living()
      let (names, chosen) = try TaskScope.types(types)
      return Allocations.RoundTrip(suspects: rows(inside, after, names, chosen), missing: nil)
    } catch {
      return Allocations.RoundTrip(suspects: [], missing: error)
    }
  }

  private func rows(
    _ inside: [TaskScope.Object], _ after: [UInt32: Int], _ names: [UInt32: TaskScope.TypeName], _ chosen: Set<UInt32>
  ) -> [Allocations.RoundTrip.Row] {
    Dictionary(grouping: inside.filter { chosen.contains($0.type) }, by: { $0.type }).map { type, objects in
      Allocations.RoundTrip.Row(
        type: names[type]?.name ?? "unknown", kind: names[type]?.kind, before: before[type] ?? 0, inside: objects.count,
        insideBytes: objects.reduce(0) { $0 + $1.bytes }, after: after[type] ?? 0,
        example: objects.first.map { Allocations.Serial(rawValue: $0.serial) },
        allocatedBy: objects.first.map { Allocations.frames(of: $0.stack) } ?? [])
    }.sorted { ($1.insideBytes, $0.type) < ($0.insideBytes, $1.type) }
  }
}
#endif
