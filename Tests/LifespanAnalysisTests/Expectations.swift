// Short words for what analysis tests expect. Used by all of them.
import LifespanAnalysis
import LifespanTrace

/// A row of statistics in one line: name, persistent count/bytes, transient count/bytes, kept count/bytes.
func lines(_ statistics: Statistics) -> [String] {
  statistics.rows.map { "\($0.type.name) " + line($0.tally) }
}

func line(_ tally: Tally) -> String {
  var text = "living \(tally.persistentCount)/\(tally.persistentBytes)"
  text += " destroyed \(tally.transientCount)/\(tally.transientBytes)"
  if tally.keptCount != 0 || tally.keptBytes != .zero { text += " kept \(tally.keptCount)/\(tally.keptBytes)" }
  if let temporary = tally.temporaryCount { text += " temporary \(temporary)" }
  return text
}

/// Generations in one line each, the open one last with a question mark.
func lines(_ generations: Generations) -> [String] {
  let all = generations.closed.map { ($0, "") } + [(generations.open, "?")]
  return all.map { growth, mark in
    let rows = growth.rows.map { " \($0.type.name) \($0.persistentCount)/\($0.persistentBytes)" }
    return "\(growth.name)\(mark) \(growth.persistentCount)/\(growth.growthBytes):" + rows.joined()
  }
}

func lines(_ difference: Difference) -> [String] {
  difference.rows.map { row in
    func text(_ amount: Difference.Amount) -> String { "\(amount.count)/\(amount.bytes)" }
    let change = row.change
    return "\(row.type.name) new \(text(change.new)) dead \(text(change.dead)) survived \(text(change.survived))"
      + " transient \(text(change.transient))"
  }
}

extension TraceBuilder {
  func analysis(_ laterMarks: LaterMark...) throws -> Analysis { Analysis(try trace(), laterMarks: laterMarks) }
}
