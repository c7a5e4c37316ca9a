// The text of `lifespan --help` and `lifespan COMMAND --help`, made from the same table that the parser reads.

enum HelpText {
  /// The list of commands.
  static func overview(of commands: [CommandSpec]) -> String {
    var lines = ["usage: lifespan COMMAND [options]", "", "commands:"]
    let width = commands.map(\.name.count).max() ?? 0
    for command in commands { lines.append("  " + pad(command.name, to: width) + "  " + command.summary) }
    lines += ["", "lifespan COMMAND --help explains one. lifespan --version prints the version."]
    return lines.joined(separator: "\n")
  }

  /// The help of one command.
  static func text(of command: CommandSpec) -> String {
    var lines = ["usage: lifespan \(command.name) \(command.usage)", "", command.summary, "", "options:"]
    let options = command.options + OptionSpec.common
    lines += columns(options.map { ($0.left, $0.help + ($0.repeatable ? " (repeatable)" : "")) })
    let discussion = command.discussion()
    if !discussion.isEmpty { lines += ["", discussion] }
    return lines.joined(separator: "\n")
  }

  /// Two columns; a left side that is too wide gets a line of its own.
  static func columns(_ rows: [(left: String, help: String)]) -> [String] {
    let width = min(28, rows.map(\.left.count).max() ?? 0)
    return rows.flatMap { row -> [String] in
      let wrapped = wrap(row.help, to: 100 - width - 4)
      let indent = String(repeating: " ", count: width + 4)
      if row.left.count > width { return ["  " + row.left] + wrapped.map { indent + $0 } }
      let rest = wrapped.dropFirst().map { indent + $0 }
      return ["  " + pad(row.left, to: width) + "  " + (wrapped.first ?? "")] + rest
    }
  }

  private static func pad(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }

  private static func wrap(_ text: String, to width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] = last + " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}

extension OptionSpec {
  /// The left column: all spellings, and what stands for the value.
  fileprivate var left: String { names.joined(separator: ", ") + (value.map { " " + $0 } ?? "") }
}
