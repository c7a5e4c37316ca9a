// The document of `lifespan stats --json`. Its schema stands in LifespanReport.docc/JSON.md.
import LifespanAnalysis
import LifespanTrace

extension StatisticsReport {
  func json(_ rows: [Statistics.Row]) -> String {
    var members = Preface.jsonHead(subject)
    members += JSONValue.pairs(["lifespan": .string(statistics.lifespan.rawValue)]).members
    members += Preface.jsonEvents(subject)
    members +=
      JSONValue.pairs([
        "unknown_deaths": .integer(Int64(statistics.unknownDeaths)),
        "rows": .array(
          rows.map { row in .object(TypeJSON.members(row.type, names) + TallyJSON.members(row.tally)) }),
      ]).members
    let all = JSONValue.Member(key: "all", value: .object(TallyJSON.members(statistics.total)))
    let kinds = statistics.totalsByKind.map { total in
      JSONValue.Member(key: total.kind.description, value: .object(TallyJSON.members(total.tally)))
    }
    members.append(.init(key: "totals", value: .object([all] + kinds)))
    members.append(.init(key: "resident", value: ResidentText.json(resident)))
    return JSONValue.object(members + Preface.jsonClosing(names)).text
  }
}
