// What `lifespan growth` tells of each type that grows: its levels, who holds one of its objects, where they were made. As text, and
// as Markdown for a pull request.
import LifespanAnalysis
import LifespanTrace

extension GrowthReport {
  /// Types that are told of, where no limit says otherwise.
  static let detailsShown = 5

  /// Those that grow: the program's own before what they bring along.
  var growing: [GrowthTrends.Row] {
    let linear = trends.rows.filter { $0.verdict == .linear }
    let own = linear.filter { !ReportNames.isToolchainType($0.type) }
    return own.isEmpty || isFiltered ? linear : own
  }

  func details(_ options: ReportOptions) -> [String] {
    let style = options.style
    let shown = growing.prefix(options.limit ?? Self.detailsShown)
    return shown.flatMap { row in
      ["", style.heading(ShortNames.shortened(title(row), to: style.width))] + body(row, style)
    }
  }

  private func title(_ row: GrowthTrends.Row) -> String {
    "\(names.name(of: row.type)): \(rate(row))"
  }

  /// `100 objects, 2,400 B a round`.
  func rate(_ row: GrowthTrends.Row) -> String {
    var round: [String] = []
    if let count = row.byCount, count.verdict == .linear {
      round.append("\(Units.thousandths(count.perRound)) object\(count.perRound == 1_000 ? "" : "s")")
    }
    if let bytes = row.byBytes, bytes.perRound != 0 { round.append(Units.bytes(GrowthText.whole(bytes.perRound))) }
    return round.joined(separator: ", ") + " a round"
  }

  /// `at this pace 12.06 GiB an hour`; objects of what has no bytes.
  private func pace(_ row: GrowthTrends.Row) -> [String] {
    if let bytes = row.byBytes, bytes.perRound != 0 {
      return trends.perHour(bytes.perRound).map { ["at this pace \(Units.bytes($0)) an hour"] } ?? []
    }
    let count = row.byCount.flatMap { trends.perHour($0.perRound) }
    return count.map { ["at this pace \(Units.things(UInt64(clamping: $0), "object")) an hour"] } ?? []
  }

  private func body(_ row: GrowthTrends.Row, _ style: TextStyle) -> [String] {
    facts(row).flatMap { TextStyle.wrapped($0, to: style.width - 2).map { "  " + $0 } } + origin(row, style)
  }

  func facts(_ row: GrowthTrends.Row) -> [String] {
    let levels = row.growsByBytesAlone ? row.bytes : row.counts.map(Int64.init)
    let what = row.growsByBytesAlone ? "bytes" : "living"
    var facts = pace(row)
    facts.append("\(what) before the first round and at each mark: \(shortened(levels).joined(separator: " "))")
    if let trend = row.leading { facts.append(GrowthText.reason(trend, rounds: trends.rounds.count)) }
    if let left = left[row.type] {
      facts.append(
        "born in these rounds and living at the end of the last: \(Units.count(left.inside)), at the end of the recording: "
          + Units.count(left.living))
    }
    return facts
  }

  /// Of long rows the first and the last.
  private func shortened(_ levels: [Int64]) -> [String] {
    let words = levels.map { Units.count($0) }
    return words.count <= 16 ? words : words.prefix(8) + ["…"] + words.suffix(7)
  }

  private func origin(_ row: GrowthTrends.Row, _ style: TextStyle) -> [String] {
    guard let site = left[row.type]?.sites.first else { return [] }
    let all = left[row.type]?.sites.count ?? 1
    let which = all > 1 ? "the most, \(Units.count(site.count)), were allocated by" : "allocated by"
    return suspects.lines(site, names, width: style.width)
      + ["  \(SuspectNumbers.text(site)), \(which)"] + StackText.lines(site.stack, names, style: style)
  }

  /// For a comment below a pull request: the verdict in a sentence, the table, and what is told of each type folded away.
  func markdown(_ grid: Grid, of total: Int, _ options: ReportOptions) -> String {
    let linear = trends.count(of: .linear)
    var lines = ["**\(verdictSentence(linear))**", ""]
    lines += Preface.asides(subject).map { "> \($0.printable)\n" }
    lines += [looked(TextStyle(usesColor: false)).map { Self.escaped($0.printable) }.joined(separator: "\n"), ""]
    lines += grid.markdownLines()
    let cut = options.rest(of: total, shown: grid.rows.count, "type")
    if !cut.isEmpty { lines += [""] + cut }
    let style = TextStyle(usesColor: false, terminalWidth: 400)
    for row in growing.prefix(options.limit ?? Self.detailsShown) {
      lines += ["", "<details><summary>\(Self.escaped(title(row).printable))</summary>", "", "```"]
      // A fence inside would end the block.
      lines += body(row, style).map { $0.printable.replacing("```", with: "'''") } + ["```", "", "</details>"]
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private func verdictSentence(_ linear: Int) -> String {
    let program = Self.escaped(Preface.programName(information).printable)
    if trends.withheld != nil { return "\(program): growth can't be told" }
    if linear == 0 { return "\(program): nothing grows over \(Units.things(trends.rounds.count, "round"))" }
    let verb = linear == 1 ? "grows" : "grow"
    return "\(program): \(Units.things(linear, "type")) \(verb) over \(Units.things(trends.rounds.count, "round"))"
  }

  /// Names in running Markdown.
  static func escaped(_ text: String) -> String {
    var escaped = ""
    for character in text {
      if "\\`*_[]<>|".contains(character) { escaped.append("\\") }
      escaped.append(character)
    }
    return escaped
  }
}
