// One option of a subcommand, as a row of the table that both the parser and `--help` read.
// Used by every file in Commands/.

/// One option of a subcommand: its spellings, whether it takes a value, and its line of help.
struct OptionSpec: Sendable {
  /// All spellings, the one that code asks for first, e.g. `["-o", "--output"]`.
  let names: [String]
  /// What stands for the value in the help, e.g. `FILE`; nil for a switch.
  let value: String?
  /// True when it may be given more than once; a second use of any other option is a usage error.
  let repeatable: Bool
  /// One line of help.
  let help: String
  /// The only values that are taken; empty means any.
  let choices: [String]
  /// How many words it takes; each is a value of its own.
  var words = 1

  /// The spelling by which parsed values are kept.
  var name: String { names.first ?? "" }

  static func flag(_ names: String..., help: String) -> OptionSpec {
    OptionSpec(names: names, value: nil, repeatable: false, help: help, choices: [])
  }

  static func option(
    _ names: String..., value: String, repeatable: Bool = false, help: String
  ) -> OptionSpec {
    OptionSpec(names: names, value: value, repeatable: repeatable, help: help, choices: [])
  }

  /// An option that takes two words, as in `--round FROM TO`.
  static func pair(_ names: String..., values: String, help: String) -> OptionSpec {
    OptionSpec(names: names, value: values, repeatable: false, help: help, choices: [], words: 2)
  }

  /// An option whose value is one of a few words; the help shows them.
  static func choice(
    _ names: String..., of choices: [String], repeatable: Bool = false, help: String
  ) -> OptionSpec {
    let value = choices.joined(separator: "|")
    return OptionSpec(names: names, value: value, repeatable: repeatable, help: help, choices: choices)
  }

  static let json = flag("--json", help: "one JSON document on stdout")
  static let help = flag("--help", "-h", help: "this text")
  static let version = flag("--version", help: "the version")
  /// What every subcommand takes.
  static let common = [help, version]
}
