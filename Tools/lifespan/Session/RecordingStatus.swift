// What a running recording says of itself: one line of JSON in the answer to STATUS. Made by RecordSession, read by
// RunningRecording, printed by `list`.

// All of Foundation would take half of the command's start, most of it for ICU.
import FoundationEssentials

/// The state of one running `record`.
struct RecordingStatus: Codable, Equatable, Sendable {
  /// The recorded process; before there is one, the program that was started.
  var pid: Int32
  /// The `lifespan record` process.
  var recordPID: Int32
  var program: String
  /// Since the recording began.
  var elapsedNanoseconds: UInt64
  var events: UInt64
  var living: UInt64
  var lost: UInt64
  /// False while paused.
  var recording: Bool
  /// Absolute path; nil before a process with a Swift runtime was found.
  var trace: String?

  enum CodingKeys: String, CodingKey {
    case pid, program, events, living, lost, recording, trace
    case recordPID = "record_pid"
    case elapsedNanoseconds = "elapsed_ns"
  }

  /// One line; shortened where a path would not fit into `limit` bytes.
  func line(limit: Int) -> String? {
    guard let whole = encoded else { return nil }
    if whole.utf8.count <= limit { return whole }
    var short = self
    short.program = String((program.split(separator: "/").last ?? "").prefix(60))
    return short.encoded.flatMap { $0.utf8.count <= limit ? $0 : nil }
  }

  init?(line: String) {
    guard let value = try? JSONDecoder().decode(Self.self, from: Data(line.utf8)) else { return nil }
    self = value
  }

  init(
    pid: Int32, recordPID: Int32, program: String, elapsedNanoseconds: UInt64 = 0, events: UInt64 = 0,
    living: UInt64 = 0, lost: UInt64 = 0, recording: Bool, trace: String? = nil
  ) {
    self.pid = pid
    self.recordPID = recordPID
    self.program = program
    self.elapsedNanoseconds = elapsedNanoseconds
    self.events = events
    self.living = living
    self.lost = lost
    self.recording = recording
    self.trace = trace
  }

  private var encoded: String? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) }
  }
}
