// The document of `lifespan growth --json`, and its JUnit form for CI. Schema: LifespanReport.docc/JSON.md.
import LifespanAnalysis
import LifespanTrace

extension GrowthReport {
  func json(_ places: [Int]) -> String {
    var text = ""
    let head = Preface.jsonHead(subject) + Preface.jsonEvents(subject)
    JSONDocument(parts: [
      .members(head + roundMembers),
      .list(key: "rows", count: places.count) { self.value(self.trends.rows[places[$0]]) },
      .members([
        .init(key: "total", value: .object(members(trends.total))),
        .init(
          key: "verdicts",
          value: .object(
            TrendVerdict.allCases.map {
              .init(key: $0.rawValue, value: .integer(Int64(trends.count(of: $0))))
            })), .init(key: "picture", value: .optional(suspects.picture(subject))),
      ]),
      .late { Preface.jsonClosing(self.names) },
    ]).write { text += $0 }
    return text
  }

  private var roundMembers: [JSONValue.Member] {
    JSONValue.pairs([
      "warm_up_marks": .array(trends.warmUpMarks.map { .string($0) }), "warm_up": .string(trends.warmUp.rawValue),
      "begin_ns": .integer(trends.begin.rawValue),
      "rounds": .array(
        trends.rounds.map { .pairs(["name": .string($0.name), "timestamp_ns": .integer($0.time.rawValue)]) }),
      "rounds_needed": .integer(Int64(Trend.roundsNeeded)), "verdicts_withheld": .optional(trends.withheld),
    ]).members
  }

  private func value(_ row: GrowthTrends.Row) -> JSONValue {
    .object(
      TypeJSON.members(row.type, names) + members(row)
        + suspects.members(left[row.type]?.sites.first, names))
  }

  /// What is true of a type, and of all of them together.
  private func members(_ row: GrowthTrends.Row) -> [JSONValue.Member] {
    JSONValue.pairs([
      "verdict": .optional(row.verdict?.rawValue), "count_verdict": .optional(row.byCount?.verdict.rawValue),
      "bytes_verdict": .optional(row.byBytes?.verdict.rawValue),
      "count_per_round": row.byCount.map { .thousandths($0.perRound) } ?? .null,
      "bytes_per_round": row.byBytes.map { .thousandths($0.perRound) } ?? .null,
      "count_per_hour": .optional(row.byCount.flatMap { trends.perHour($0.perRound) }),
      "bytes_per_hour": .optional(row.byBytes.flatMap { trends.perHour($0.perRound) }),
      "counts": .array(row.counts.map { .integer(Int64($0)) }), "bytes": .array(row.bytes.map { .integer($0) }),
      "left_by_round": .array(row.left.map { .integer(Int64($0)) }),
      "new_highs": .array((row.leading?.highs ?? []).map { .integer(Int64($0)) }),
      "chance_percent": row.leading.map { .thousandths($0.chance / 10) } ?? .null,
      "reason": .optional(row.leading.map { GrowthText.reason($0, rounds: trends.rounds.count) }),
    ]).members
  }

  /// One test case a type that grows, and one for all the others.
  func junit() -> String {
    var suite = JUnitSuite(name: "growth")
    if let withheld = trends.withheld {
      suite.add("growth", skip: "can't be told: \(withheld)")
      return suite.text
    }
    for row in trends.rows where row.verdict == .linear {
      var text = facts(row)
      if let site = left[row.type]?.sites.first {
        text += suspects.lines(site, names, width: 1_000)
        text += ["allocated by"] + StackText.lines(site.stack, names, style: TextStyle(), indent: 2)
      }
      suite.add("\(names.name(of: row.type)) grows", failure: rate(row), text: text)
    }
    let rest = trends.rows.count - trends.count(of: .linear)
    if rest > 0 || suite.isEmpty {
      suite.add("\(Units.things(rest, "other type")) \(rest == 1 ? "does" : "do") not grow")
    }
    return suite.text
  }
}
