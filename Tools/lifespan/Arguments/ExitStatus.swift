// The one place that turns errors into exit statuses and lines on stderr. Called by main.swift.

/// What the command ends with.
struct ExitStatus: Equatable, Sendable {
  let code: Int32

  static let success = ExitStatus(code: 0)
  /// A limit of `--fail-on` is passed; `doctor`: cannot be recorded.
  static let limitPassed = ExitStatus(code: 1)
  /// Input that cannot be read or output that cannot be written.
  static let unusable = ExitStatus(code: 2)
  static let wrongUsage = ExitStatus(code: 64)
  static let notExecutable = ExitStatus(code: 126)
  static let notFound = ExitStatus(code: 127)

  /// As a shell reports a program's end.
  static func program(_ end: ProgramEnd) -> ExitStatus {
    switch end {
    case .exited(let code): return ExitStatus(code: code)
    case .killed(let signal): return ExitStatus(code: 128 + signal)
    }
  }
}

/// An error that knows its one line and its exit status.
protocol CommandLineError: Error {
  var exitStatus: ExitStatus { get }
  /// One line without the command's name: what, where, and what to do.
  var line: String { get }
}

/// Something that a command could not use or do: exit status 2, unless it says another.
struct CommandFailure: CommandLineError {
  let line: String
  var exitStatus = ExitStatus.unusable

  init(_ line: String, exitStatus: ExitStatus = .unusable) {
    self.line = line
    self.exitStatus = exitStatus
  }
}

extension ExitStatus {
  /// The line and the status of any error. Errors of other modules are unusable input: their description is the line.
  static func describe(_ error: any Error) -> (line: String, status: ExitStatus) {
    if let known = error as? any CommandLineError { return (known.line, known.exitStatus) }
    return (String(describing: error), .unusable)
  }
}
