// The document of `lifespan generations --json`. Its schema stands in LifespanReport.docc/JSON.md.
import LifespanAnalysis
import LifespanTrace

extension GenerationsReport {
  /// `places`: of the list the generations to write, of one generation its rows.
  func json(_ places: [Int]) -> String {
    var members = Preface.jsonHead(subject) + Preface.jsonEvents(subject)
    members.append(.init(key: "at_mark", value: .bool(generations.atMark)))
    members.append(.init(key: "lifespan", value: .string(generations.lifespan.rawValue)))
    let listed: [Generations.Growth]
    var open: Generations.Growth? = generations.open
    if let chosen {
      var cut = chosen
      cut.rows = places.map { chosen.rows[$0] }
      listed = isOpen(chosen) ? [] : [cut]
      open = isOpen(chosen) ? cut : nil
    } else {
      let all = generations.closed + [generations.open]
      listed = places.map { all[$0] }.filter { !isOpen($0) }
      if listed.count == places.count { open = nil }
    }
    members.append(.init(key: "generations", value: .array(listed.map(value))))
    members.append(.init(key: "open", value: open.map(value) ?? .null))
    var parts = [JSONDocument.Part.members(members)]
    if let objects { parts += ObjectsJSON.parts(objects, Array(objects.objects.indices), information, names) }
    var text = ""
    JSONDocument(parts: parts + [.late { Preface.jsonClosing(names) }]).write { text += $0 }
    return text
  }

  private func value(_ growth: Generations.Growth) -> JSONValue {
    .pairs([
      "name": .string(growth.name), "timestamp_ns": .integer(growth.time.rawValue),
      "growth_bytes": .integer(growth.growthBytes.rawValue),
      "persistent_count": .integer(Int64(growth.persistentCount)),
      "transient_count": .integer(Int64(growth.transientCount)),
      "transient_bytes": .integer(growth.transientBytes.rawValue),
      "kept_count": .integer(Int64(growth.keptCount)), "kept_bytes": .integer(growth.keptBytes.rawValue),
      "rows": .array(
        growth.rows.map { row in
          .object(
            TypeJSON.members(row.type, names)
              + JSONValue.pairs([
                "persistent_count": .integer(Int64(row.persistentCount)),
                "persistent_bytes": .integer(row.persistentBytes.rawValue),
                "transient_count": .integer(Int64(row.transientCount)),
                "transient_bytes": .integer(row.transientBytes.rawValue),
                "kept_count": .integer(Int64(row.keptCount)), "kept_bytes": .integer(row.keptBytes.rawValue),
              ]).members)
        }),
    ])
  }
}
