// The `lifespan` command: picks the subcommand, parses, runs, and turns errors into one line and an exit status.

import Glibc

func runCommandLine(_ words: [String]) throws -> ExitStatus {
  guard let name = words.first else {
    throw UsageError.missingOperand("a command; lifespan --help lists all")
  }
  switch name {
  case "--help", "-h", "help":
    StandardStreams.printLine(HelpText.overview(of: CommandTable.commands))
    return .success
  case "--version":
    StandardStreams.printLine(Version.line)
    return .success
  default:
    let command = try CommandTable.command(named: name)
    let arguments = try ArgumentParser(command: command).parse(Array(words.dropFirst()))
    if arguments.has(OptionSpec.help.name) {
      StandardStreams.printLine(HelpText.text(of: command))
      return .success
    }
    if arguments.has(OptionSpec.version.name) {
      StandardStreams.printLine(Version.line)
      return .success
    }
    return try command.run(arguments)
  }
}

let status: ExitStatus
do {
  // The runtime reads them there; they begin with the command's own name.
  if CommandLine.arguments.isEmpty {
    throw CommandFailure(
      "/proc is not there, without which this command sees no arguments: mount it, or use the packed recorder "
        + "(Tools/package)")
  }
  status = try runCommandLine(Array(CommandLine.arguments.dropFirst()))
} catch {
  let described = ExitStatus.describe(error)
  StandardStreams.errorLine("lifespan: " + described.line)
  status = described.status
}
StatusLine.clear()
exit(status.code)
