// `record --stats`: prints the statistics of a finished trace. Called by RecordCommand.

/// Prints on stderr what `lifespan stats PATH` prints on stdout, which is the program's here.
func printStatistics(_ path: String) {
  StandardStreams.toStandardError = true
  defer { StandardStreams.toStandardError = false }
  do {
    let command = try CommandTable.command(named: "stats")
    _ = try command.run(ArgumentParser(command: command).parse([path]))
  } catch {
    StandardStreams.errorLine("lifespan: " + ExitStatus.describe(error).line)
  }
}
