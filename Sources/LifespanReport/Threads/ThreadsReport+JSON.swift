// The document of `lifespan threads --json`. Its schema stands in LifespanReport.docc/JSON.md.
import LifespanAnalysis
import LifespanTrace

extension ThreadsReport {
  func json(_ rows: [ThreadList.Row]) -> String {
    let members =
      Preface.jsonHead(subject) + JSONValue.pairs(["lifespan": .string(list.lifespan.rawValue)]).members
      + Preface.jsonEvents(subject)
      + JSONValue.pairs([
        "living_count": .integer(Int64(list.livingCount)), "ended_count": .integer(Int64(list.endedCount)),
        "threads": .array(rows.map(value)),
      ]).members
    return JSONValue.object(members + Preface.jsonClosing(names)).text
  }

  private func value(_ row: ThreadList.Row) -> JSONValue {
    .pairs([
      "thread": .unsigned(UInt64(row.thread.rawValue)), "tid": .unsigned(UInt64(row.tid)), "name": .string(row.name),
      "state": .string(row.state.rawValue), "born_ns": .integer(row.born.rawValue),
      "origin_known": .bool(row.isOriginKnown), "ended_ns": row.ended.map { .integer($0.rawValue) } ?? .null,
      "age_ns": .integer(row.age), "events": .integer(Int64(row.events)),
      "last_event_ns": row.lastEvent.map { .integer($0.rawValue) } ?? .null,
      "stack_bytes": row.stackBytes.map { .integer($0.rawValue) } ?? .null,
      "creator": .optional(row.creator.map { UInt64($0.rawValue) }),
      "start": start(row).map(FrameJSON.value) ?? .null, "allocator": creation(row).map(FrameJSON.value) ?? .null,
      "created_by": FrameJSON.stack(row.stack, names),
      "stack_ending": .optional(row.isOriginKnown ? names.ending(of: row.stack) : nil),
    ])
  }
}
