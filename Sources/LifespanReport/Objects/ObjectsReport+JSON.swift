// The document of `lifespan objects --json`, and the objects within that of `generations`. Schema: LifespanReport.docc.
import LifespanAnalysis
import LifespanTrace

extension ObjectsReport {
  func json(_ places: [Int]) -> JSONDocument {
    let head = JSONDocument.Part.members(Preface.jsonHead(subject) + Preface.jsonEvents(subject))
    let parts = ObjectsJSON.parts(list, places, information, names)
    return JSONDocument(parts: [head] + parts + [.late { Preface.jsonClosing(names) }])
  }
}

/// Objects and the stacks that made them.
enum ObjectsJSON {
  /// The members `count`, `bytes`, `objects` (those at `places`) and `stacks`.
  static func parts(
    _ list: ObjectList, _ places: [Int], _ information: TraceInformation, _ names: ReportNames
  ) -> [JSONDocument.Part] {
    let sums = JSONValue.pairs([
      "count": .integer(Int64(list.count)), "bytes": .integer(list.bytes.rawValue),
      "kept_count": .integer(Int64(list.keptCount)), "kept_bytes": .integer(list.keptBytes.rawValue),
    ])
    return [
      .members(sums.members),
      .list(key: "objects", count: places.count) { .object(members(list.objects[places[$0]], information, names)) },
      .list(key: "stacks", count: list.groups.count) { .object(members(list.groups[$0], names)) },
    ]
  }

  private static func members(_ group: ObjectList.StackGroup, _ names: ReportNames) -> [JSONValue.Member] {
    TypeJSON.members(group.type, names)
      + JSONValue.pairs([
        "count": .integer(Int64(group.count)), "bytes": .integer(group.bytes.rawValue),
        "serials": .array(group.serials.map { .unsigned($0.rawValue) }),
        "stack": .unsigned(UInt64(group.stack.rawValue)), "allocated_by": FrameJSON.stack(group.stack, names),
        "stack_ending": .optional(names.ending(of: group.stack)),
      ]).members
  }

  /// One object.
  static func members(
    _ object: ObjectRecord, _ information: TraceInformation, _ names: ReportNames
  ) -> [JSONValue.Member] {
    let head = JSONValue.pairs([
      "serial": .unsigned(object.serial.rawValue), "address": .optional(object.address?.description),
    ]).members
    return head + TypeJSON.members(object.type, names)
      + JSONValue.pairs([
        "size": .integer(object.size.rawValue), "state": .string(state(object.state)),
        "born_ns": .integer(object.born.rawValue),
        "died_ns": object.died.map { .integer($0.rawValue) } ?? .null,
        "freed_ns": object.freed.map { .integer($0.rawValue) } ?? .null,
        "age_ns": .integer(object.age), "idle_ns": object.idle.map { .integer($0) } ?? .null,
        "retain_count": .optional(object.retainCount), "thread": .unsigned(UInt64(object.thread.rawValue)),
        "task": .optional(object.task?.rawValue),
        "generation": .optional(GenerationNames.name(of: object.generation, in: information)),
        "allocator": names.allocator(of: object.stack).map(FrameJSON.value) ?? .null,
        "stack": .unsigned(UInt64(object.stack.rawValue)),
      ]).members
  }

  private static func state(_ state: ObjectRecord.State) -> String {
    switch state {
    case .living: return "living"
    case .deinitedMemoryKept: return "memory_kept"
    case .freed: return "freed"
    case .endNotSeen: return "end_not_seen"
    }
  }
}
