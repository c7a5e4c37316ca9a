// Every LIFESPAN_* variable, once: read by `lifespan record --help`, by the launcher and by doctor.

/// One variable of our environment.
struct EnvironmentVariable: Sendable {
  let name: String
  let help: String

  static let session = EnvironmentVariable(
    name: "LIFESPAN_SESSION",
    help: "set by record for the program: path of the session's socket; the preload library takes it out again")
  static let preload = EnvironmentVariable(
    name: "LIFESPAN_PRELOAD",
    help: "the preload library to use instead of the one beside the command")

  /// All of them, as the help lists them.
  static let all: [EnvironmentVariable] = [session, preload]

  /// The paragraph of `record --help`.
  static var paragraph: String {
    let rows = all.map { (left: $0.name, help: $0.help) }
    return (["environment:"] + HelpText.columns(rows)).joined(separator: "\n")
  }
}
