// What `lifespan doctor --refcounts` found, as text and as JSON. Made by RefcountDoctor.

import Glibc
import LifespanAnalysis
import LifespanReport
import LifespanTrace

/// The findings of every process that was recorded.
struct RefcountReport {
  private struct Row {
    let difference: CountDifference
    let type: String
    let allocatedBy: String?
  }

  private struct Process {
    let trace: FinishedRecording
    let findings: RefcountFindings
    let rows: [Row]
  }

  private let processes: [Process]
  private let problems: [String]
  private let end: ProgramEnd
  private let isKept: Bool

  init(_ session: RecordSession, end: ProgramEnd, isKept: Bool) throws {
    self.end = end
    self.isKept = isKept
    problems = session.problems
    processes = try session.finished.filter(\.began).map { trace in
      let findings = trace.verified ?? RefcountFindings()
      let rows = findings.differences.isEmpty ? [] : try Self.rows(findings.differences, trace.path)
      return Process(trace: trace, findings: findings, rows: rows)
    }
  }

  /// Of processes that have objects to compare.
  var moments: Int { processes.reduce(0) { $0 + ($1.trace.blocksAlone ? 0 : $1.findings.moments) } }
  var isExact: Bool { processes.allSatisfy(\.findings.differences.isEmpty) }

  private static func rows(_ differences: [CountDifference], _ path: String) throws -> [Row] {
    let recording = try OpenedRecording(path)
    let catalog = recording.analysis.catalog
    return differences.map { difference in
      let type = catalog.row(TypeID(difference.type)).map { recording.names.name(of: catalog.rows[$0]) }
      let allocator = recording.names.allocator(of: StackID(difference.stack))
      return Row(difference: difference, type: type ?? "?", allocatedBy: allocator?.description)
    }
  }

  // MARK: Text

  var text: String {
    var lines = processes.flatMap(lines)
    if processes.isEmpty {
      lines.append("nothing recorded: " + (problems.first ?? "no program with a Swift runtime ran"))
    }
    if case .killed(let signal) = end { lines.append("the program was killed by signal \(signal)") }
    if case .exited(let code) = end, code != 0 { lines.append("the program's exit status was \(code)") }
    return lines.map { $0.printable + "\n" }.joined()
  }

  private func lines(_ process: Process) -> [String] {
    let findings = process.findings
    let name = "\(process.trace.program) (\(FilePath.name(process.trace.path)))"
    if process.trace.blocksAlone { return ["\(name): nothing was compared: it has no Swift runtime"] }
    if let obstacle = findings.obstacle { return ["\(name): nothing was compared: \(obstacle)"] }
    guard findings.moments > 0 else { return ["\(name): nothing was compared: it ended before the first moment"] }
    var lines = [
      "\(process.trace.program): \(Units.count(findings.exact)) of \(Units.count(findings.checked)) counts exact at "
        + "\(Units.things(findings.moments, "moment"))"
        + (findings.sawEnd ? ", the last one its end" : "; its end was not seen")
    ]
    if process.trace.counts.lost > 0 {
      lines.append("\(Units.things(process.trace.counts.lost, "event")) were lost, so these counts cannot be exact")
    }
    if let limitation = process.trace.limitation { lines.append("capture \(limitation)") }
    if findings.uncounted > 0 {
      lines.append("\(Units.things(findings.uncounted, "object")) not compared at the last one: nobody counts them")
    }
    for row in process.rows {
      let actual = row.difference.actual < 0 ? "not to be read" : "\(row.difference.actual)"
      lines.append(
        "  @\(row.difference.serial) \(row.type): recorded \(row.difference.recorded), the runtime's \(actual)"
          + (row.allocatedBy.map { ", allocated by \($0)" } ?? ""))
    }
    if !process.rows.isEmpty {
      lines.append(
        isKept
          ? "lifespan history \(process.trace.path) @SERIAL shows one's events"
          : "-o FILE keeps the trace, for lifespan history")
    }
    return lines
  }

  // MARK: JSON

  var json: String {
    let document = JSONValue.pairs([
      "format": .integer(1), "exact": .bool(isExact && moments > 0),
      "program_status": .integer(Int64(ExitStatus.program(end).code)),
      "problems": .array(problems.map { .string($0) }),
      "processes": .array(processes.map(value)),
    ])
    return document.text + "\n"
  }

  private func value(_ process: Process) -> JSONValue {
    let findings = process.findings
    return .pairs([
      "program": .string(process.trace.program), "trace": .optional(isKept ? process.trace.path : nil),
      "moments": .integer(Int64(findings.moments)), "saw_end": .bool(findings.sawEnd),
      "checked": .unsigned(findings.checked), "exact": .unsigned(findings.exact),
      "uncounted": .unsigned(findings.uncounted), "lost_events": .unsigned(process.trace.counts.lost),
      "limitation": .optional(process.trace.limitation),
      "obstacle": .optional(process.trace.blocksAlone ? "it has no Swift runtime" : findings.obstacle),
      "differences": .array(
        process.rows.map { row in
          .pairs([
            "serial": .unsigned(row.difference.serial),
            "address": .string("0x" + String(row.difference.address, radix: 16)), "type": .string(row.type),
            "recorded": .integer(row.difference.recorded),
            "actual": row.difference.actual < 0 ? .null : .integer(row.difference.actual),
            "allocated_by": .optional(row.allocatedBy),
          ])
        }),
    ])
  }
}
