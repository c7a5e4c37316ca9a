// What each stack allocated of each type, as a document, as a table for a spreadsheet and as one for a pull request.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// A recording's allocation sites for programs that know no profiles: JSON, CSV, Markdown.
public struct SitesExport {
  private let sites: AllocationSites
  private let statistics: Statistics
  private let subject: ReportSubject
  private let names: ReportNames
  private let isFiltered: Bool
  private let order: [AllocationSites.Row]

  /// Those sites, of `statistics`' stretch and filters, kept apart by generation; `isFiltered` where it was asked for some types only.
  public init(
    _ sites: AllocationSites, _ statistics: Statistics, subject: ReportSubject, names: ReportNames,
    isFiltered: Bool = false
  ) {
    self.isFiltered = isFiltered
    self.sites = sites
    self.statistics = statistics
    self.subject = subject
    self.names = names
    order = sites.rows.enumerated().sorted { one, other in
      let left = one.element.tally.weight(of: sites.lifespan)
      let right = other.element.tally.weight(of: sites.lifespan)
      if left != right { return (left.bytes, left.count) > (right.bytes, right.count) }
      return one.offset < other.offset
    }.map(\.element)
  }

  private func generation(_ row: AllocationSites.Row) -> String? {
    row.generation.flatMap { GenerationNames.name(of: $0, in: subject.information) }
  }

  // MARK: JSON

  /// The document: types, their sums, then a site for each type, stack and generation, then the stacks that they name.
  public var json: String {
    var stacks: [StackID] = []
    var seen: Set<StackID> = []
    for row in order where seen.insert(row.stack).inserted { stacks.append(row.stack) }
    let totals =
      [JSONValue.Member(key: "all", value: .object(TallyJSON.members(statistics.total)))]
      + statistics.totalsByKind.map {
        JSONValue.Member(key: $0.kind.description, value: .object(TallyJSON.members($0.tally)))
      }
    let members =
      Preface.jsonHead(subject) + JSONValue.pairs(["lifespan": .string(sites.lifespan.rawValue)]).members
      + Preface.jsonEvents(subject)
      + JSONValue.pairs([
        "types": .array(
          statistics.rows.map { .object(TypeJSON.members($0.type, names) + TallyJSON.members($0.tally)) }),
        "totals": .object(totals),
        "sites": .array(order.map { .object(siteMembers($0)) }),
        "without_stack": .object(TallyJSON.members(sites.withoutStack)),
        "stacks": .array(
          stacks.map {
            .pairs([
              "stack": .unsigned(UInt64($0.rawValue)), "frames": FrameJSON.stack($0, names),
              "ending": .optional(names.ending(of: $0)),
            ])
          }),
      ]).members
    return JSONValue.object(members + Preface.jsonClosing(names)).text + "\n"
  }

  private func siteMembers(_ row: AllocationSites.Row) -> [JSONValue.Member] {
    TypeJSON.members(row.type, names)
      + JSONValue.pairs([
        "generation": .optional(generation(row)), "stack": .unsigned(UInt64(row.stack.rawValue)),
      ]).members + TallyJSON.members(row.tally)
  }

  // MARK: CSV

  /// A line for each type, stack and generation; `limit`: so many at most.
  public func csv(limit: Int?) -> String {
    let numbers = [
      "persistent_count", "persistent_bytes", "transient_count", "transient_bytes", "total_count", "total_bytes",
    ]
    let words = ["type", "kind", "module", "generation"]
    let places = ["function", "file", "line", "stack"]
    var grid = Grid(
      columns: words.map { GridColumn(key: $0, title: $0, isNumber: false) }
        + numbers.map { GridColumn(key: $0, title: $0) }
        + places.map { GridColumn(key: $0, title: $0, isNumber: $0 == "line") })
    grid.rows = order.prefix(limit ?? order.count).map(cells)
    return grid.csvLines().joined(separator: "\n") + "\n"
  }

  private func cells(_ row: AllocationSites.Row) -> [Cell] {
    let frames = names.frames(of: row.stack)
    let responsible = names.responsibleFrame(of: row.stack, withLines: true)
    let stack = frames.reversed().map { $0.function.replacing(";", with: ":") }.joined(separator: ";")
    return [
      .word(names.name(of: row.type)), .word(row.type.kind.description), .word(names.module(of: row.type)),
      .word(generation(row) ?? ""), .count(row.tally.persistentCount), .bytes(row.tally.persistentBytes.rawValue),
      .count(row.tally.transientCount), .bytes(row.tally.transientBytes.rawValue), .count(row.tally.totalCount),
      .bytes(row.tally.totalBytes.rawValue), .word(responsible?.function ?? ""), .word(responsible?.file ?? ""),
      .known(responsible?.line), .word(stack),
    ]
  }

  // MARK: Markdown

  /// For a pull request: which recording, then the largest types; `limit`: so many of them.
  public func markdown(limit: Int) -> String {
    let report = StatisticsReport(statistics, subject: subject, names: names, isFiltered: isFiltered)
    let table = report.render(ReportOptions(format: .markdown, limit: limit))
    let title = "### Allocations of \(Preface.programName(subject.information)): \(sites.lifespan.rawValue)"
    let rest = statistics.rows.count - limit
    return "\(title)\n\n\(Preface.headline(subject).printable)\n\n\(table)"
      + (rest > 0 ? "\n… \(Units.things(rest, "more type"))\n" : "")
  }
}
