// All subcommands, in the order in which `lifespan --help` lists them. Read by main.swift.
// A new subcommand is one file in Commands/ and one line here.

enum CommandTable {
  static let commands: [CommandSpec] = [
    RecordCommand.spec, ListCommand.spec, SwitchCommand.start, SwitchCommand.stop, MarkCommand.spec,
    StatsCommand.spec, GenerationsCommand.spec, GrowthCommand.spec, DiffCommand.spec, CompareCommand.spec,
    ObjectsCommand.spec, HistoryCommand.spec, TreeCommand.spec, LeaksCommand.spec, HoldersCommand.spec,
    ThreadsCommand.spec, ExplainCommand.spec, ReportCommand.spec, ExportCommand.spec, DoctorCommand.spec,
    DumpCommand.spec,
  ]

  static func command(named name: String) throws -> CommandSpec {
    if let command = commands.first(where: { $0.name == name }) { return command }
    throw UsageError.unknownCommand(name, nearest: Suggestion.nearest(to: name, among: commands.map(\.name)))
  }
}
