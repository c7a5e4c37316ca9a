// Wrong usage of the command line: each case becomes one line on stderr and exit status 64.

/// A command line that cannot be understood.
enum UsageError: CommandLineError {
  case unknownCommand(String, nearest: String?)
  case unknownOption(String, nearest: String?)
  case missingValue(option: String, value: String)
  case badValue(option: String, value: String, expected: String)
  case takesNoValue(String)
  case givenTwice(String)
  case missingOperand(String)
  case extraOperand(String)
  case badOperand(String, expected: String)
  case excluded(String, by: String)
  /// No PID was given and several recordings run.
  case needsPID(running: String)

  var exitStatus: ExitStatus { .wrongUsage }

  var line: String {
    switch self {
    case .unknownCommand(let name, let nearest):
      return "unknown command '\(name)'" + Self.hint(nearest) + "; lifespan --help lists all"
    case .unknownOption(let name, let nearest):
      return "unknown option '\(name)'" + Self.hint(nearest)
    case .missingValue(let option, let value): return "\(option) needs a value: \(option) \(value)"
    case .badValue(let option, let value, let expected):
      return "\(option) does not take '\(value)': expected \(expected)"
    case .takesNoValue(let option): return "\(option) takes no value"
    case .givenTwice(let option): return "\(option) is given twice"
    case .missingOperand(let usage): return "something is missing: expected \(usage)"
    case .extraOperand(let word): return "unexpected '\(word)'"
    case .excluded(let option, let other): return "\(option) and \(other) exclude each other"
    case .needsPID(let running): return "several recordings run, give the PID of one: \(running)"
    case .badOperand(let word, let expected): return "cannot use '\(word)': expected \(expected)"
    }
  }

  private static func hint(_ nearest: String?) -> String {
    nearest.map { ", did you mean '\($0)'?" } ?? ""
  }
}
