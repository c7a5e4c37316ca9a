// `lifespan list`: the recordings that run now.
import LifespanReport

enum ListCommand {
  static let spec = CommandSpec(
    name: "list", usage: "[--json]", summary: "recordings that run now", operands: .count(0...0),
    options: [.json], run: run)

  private static func run(_ arguments: ParsedArguments) throws -> ExitStatus {
    let running = RunningRecording.all().map(\.status)
    if arguments.has("--json") {
      StandardStreams.printLine(
        JSONValue.pairs(["format": .integer(1), "recordings": .array(running.map(json))]).text)
    } else if running.isEmpty {
      StandardStreams.printLine("no recording runs")
    } else {
      StandardStreams.printLine(table(running).joined(separator: "\n"))
    }
    return .success
  }

  private static func json(_ status: RecordingStatus) -> JSONValue {
    .pairs([
      "pid": .integer(Int64(status.pid)), "record_pid": .integer(Int64(status.recordPID)),
      "program": .string(FilePath.name(status.program)),
      "path": .optional(status.program.hasPrefix("/") ? status.program : nil),
      "elapsed_ns": .unsigned(status.elapsedNanoseconds),
      "events": .unsigned(status.events), "living": .unsigned(status.living), "lost": .unsigned(status.lost),
      "recording": .bool(status.recording), "trace": .optional(status.trace),
    ])
  }

  private static func table(_ running: [RecordingStatus]) -> [String] {
    let head = ["PID", "elapsed", "events", "living", "lost", "state", "trace", "program"]
    let rows = [head] + running.map(cells)
    let widths = head.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let padded = row.enumerated().map { column, text -> String in
        let space = String(repeating: " ", count: widths[column] - text.count)
        // Numbers to the right, words to the left.
        return column < 5 ? space + text : text + space
      }
      return trimmed(padded.joined(separator: "  "))
    }
  }

  private static func cells(_ status: RecordingStatus) -> [String] {
    let tenths = status.elapsedNanoseconds / 100_000_000
    let state = status.trace == nil ? "waiting" : status.recording ? "recording" : "paused"
    return [
      String(status.pid), "\(tenths / 10).\(tenths % 10) s", Units.count(status.events),
      Units.count(status.living), Units.count(status.lost), state,
      status.trace?.split(separator: "/").last.map(String.init) ?? "-", status.program,
    ]
  }

  private static func trimmed(_ line: String) -> String {
    var line = line
    while line.last == " " { line.removeLast() }
    return line
  }
}
