// Exact counts of what lives now, by type and by token.
#if Recording
internal import CDrain
internal import CLinkedDoor

extension Allocations {
  /// The number of living objects of a class, with its subclasses: exact, now, in the whole process, of those that were
  /// born while the recording ran. An object lives until its deinit has ended.
  ///
  /// Objects born before the start or between a ``stop()`` and the next start are not counted, whether they live or not:
  /// ``capture`` is then ``Capture/partial(reason:)`` and says from when to when.
  ///
  /// - Throws: ``NotRecording`` where the number would not be true: nothing is recorded, the recording is stopped, the
  ///   type or one of its subclasses is left out.
  ///
  /// Cost: what has been recorded since the last question, and one look at each type.
  public static func liveCount(of type: AnyClass) throws(NotRecording) -> Int {
    try checkRunning()
    let pointer = unsafeBitCast(type, to: UnsafeRawPointer.self)
    try checkRecorded(pointer, String(reflecting: type))
    let (rows, table) = try rows(since: 0)
    let family = table.family(of: UInt64(UInt(bitPattern: pointer)))
    for member in family {
      guard let type = table.types[member] else { continue }
      try checkRecorded(UnsafeRawPointer(bitPattern: UInt(type.metadata)), type.fullName)
    }
    return living(rows) { family.contains($0) }
  }

  /// The number of living values that hold a ``Token`` of this name: exact, now.
  ///
  /// - Throws: ``NotRecording``, as ``liveCount(of:)``.
  public static func liveCount(ofToken name: String) throws(NotRecording) -> Int {
    try checkRunning()
    try checkRecorded(nil, name)
    let (rows, table) = try rows(since: 0)
    return living(rows) { table.types[$0]?.kind == .token && table.types[$0]?.fullName == name }
  }

  /// Rows by type of what was born in the given generation or a later one, of the types that the program has asked for,
  /// and all types. Both are asked for before anything of ours is allocated.
  static func rows(since generation: UInt32) throws(NotRecording) -> (rows: [lifespan_row], table: TypeTable) {
    let rows = try Door.ask(LIFESPAN_ASK_ROWS, generation: generation)
    let types = try Door.ask(LIFESPAN_ASK_TYPES)
    let table = TypeTable(types)
    let wanted = rows.withBytes { $0.rows(of: lifespan_row.self) }.filter {
      table.types[TypeID(rawValue: $0.type)]?.isWanted ?? true
    }
    return (wanted, table)
  }

  private static func living(_ rows: [lifespan_row], _ counts: (TypeID) -> Bool) -> Int {
    rows.reduce(0) { counts(TypeID(rawValue: $1.type)) ? $0 + Int(clamping: $1.living_count) : $0 }
  }

  private static func checkRunning() throws(NotRecording) {
    try Door.checkRecording()
    guard Door.state().recording != 0 else { throw NotRecording(.stopped) }
  }

  static func checkRecorded(_ metadata: UnsafeRawPointer?, _ name: String) throws(NotRecording) {
    var text = name
    let recorded = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { lifespan_linked_records(metadata, $0.baseAddress, $0.count) }
    }
    switch recorded {
    case LIFESPAN_LINKED_RECORDED: return
    case LIFESPAN_LINKED_BY_RULE: throw NotRecording(.leftOut(type: metadata == nil ? name : Door.plainName(name)))
    default: throw NotRecording(.notTracked(type: Door.plainName(name)))
    }
  }
}
#endif
