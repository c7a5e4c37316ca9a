// The document of `lifespan objects --json`, and the objects within that of `generations`. Schema: LifespanReport.docc.
import LifespanAnalysis
import LifespanTrace

extension ObjectsReport {
  func json(_ places: [Int]) -> String {
    var cut = list
    cut.objects = places.map { list.objects[$0] }
    var members = Preface.jsonHead(subject) + Preface.jsonEvents(subject)
    members += ObjectsJSON.members(cut, information, names)
    return JSONValue.object(members + Preface.jsonClosing(names)).text
  }
}

/// Objects and the stacks that made them.
enum ObjectsJSON {
  static func members(
    _ list: ObjectList, _ information: TraceInformation, _ names: ReportNames
  ) -> [JSONValue.Member] {
    JSONValue.pairs([
      "count": .integer(Int64(list.count)), "bytes": .integer(list.bytes.rawValue),
      "objects": .array(list.objects.map { .object(members($0, information, names)) }),
      "stacks": .array(
        list.groups.map { group in
          .object(
            TypeJSON.members(group.type, names)
              + JSONValue.pairs([
                "count": .integer(Int64(group.count)), "bytes": .integer(group.bytes.rawValue),
                "serials": .array(group.serials.map { .unsigned($0.rawValue) }),
                "stack": .unsigned(UInt64(group.stack.rawValue)),
                "allocated_by": FrameJSON.stack(group.stack, names),
                "stack_ending": .optional(names.ending(of: group.stack)),
              ]).members)
        }),
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
        "age_ns": .integer(object.age), "thread": .unsigned(UInt64(object.thread.rawValue)),
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
