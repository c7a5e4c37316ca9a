// The document of `lifespan stats --json`. Its schema stands in LifespanReport.docc/JSON.md.
import LifespanAnalysis
import LifespanTrace

extension StatisticsReport {
  /// The rows at these places.
  func json(_ places: [Int]) -> String {
    var members = Preface.jsonHead(subject)
    members +=
      JSONValue.pairs([
        "lifespan": .string(statistics.lifespan.rawValue),
        "group_by": .string((groups?.grouping ?? .type).rawValue),
      ]).members
    members += Preface.jsonEvents(subject)
    members +=
      JSONValue.pairs([
        "unknown_deaths": .integer(Int64(statistics.unknownDeaths)),
        "rows": .array(
          places.map { place in groups.map { Self.json($0.rows[place]) } ?? json(statistics.rows[place]) }),
      ]).members
    if hasLifetimes {
      members.append(.init(key: "lifetime_step_ns", value: .integer(information.timeStep)))
    }
    let all = JSONValue.Member(key: "all", value: .object(TallyJSON.members(statistics.total)))
    let kinds = statistics.totalsByKind.map { total in
      JSONValue.Member(key: total.kind.description, value: .object(TallyJSON.members(total.tally)))
    }
    members.append(.init(key: "totals", value: .object([all] + kinds)))
    members.append(.init(key: "resident", value: ResidentText.json(resident)))
    return JSONValue.object(members + Preface.jsonClosing(names)).text
  }

  private func json(_ row: Statistics.Row) -> JSONValue {
    .object(TypeJSON.members(row.type, names) + TallyJSON.members(row.tally))
  }

  private static func json(_ row: StatisticsGroups.Row) -> JSONValue {
    .object(
      JSONValue.pairs([
        "group": .string(row.name), "number": .optional(row.number), "is_known": .bool(row.isKnown),
      ]).members + TallyJSON.members(row.tally))
  }
}
