// One subcommand as a row of the table in CommandTable.swift: its words, its options and the function that runs it.
// Read by ArgumentParser, HelpText and main.swift.

/// One subcommand.
struct CommandSpec: Sendable {
  /// How words that are no options are taken.
  enum Operands: Sendable {
    /// At least and at most so many; a word too few or too many is a usage error.
    case count(ClosedRange<Int>)
    /// The first one ends the options: it is a program, all after it are the program's own arguments.
    case program
  }

  let name: String
  /// What follows the name in the usage line, e.g. `[options] -- PROGRAM [ARG…]`.
  let usage: String
  /// One line, for the list of commands.
  let summary: String
  let operands: Operands
  let options: [OptionSpec]
  /// Further paragraphs of the help.
  var discussion: @Sendable () -> String = { "" }
  /// Runs it; what it throws becomes one line and an exit status in ExitStatus.swift.
  let run: @Sendable (ParsedArguments) throws -> ExitStatus
}
