// The options that reading subcommands share, as rows of their tables. Parsed by ReadingOptions.swift.
import LifespanReport
import LifespanTrace

/// Options of several reading subcommands.
enum ReadingOption {
  static let lifespan = OptionSpec.choice(
    "--lifespan", of: ["all", "living", "destroyed"], help: "which objects: default living")
  static let type = OptionSpec.option(
    "--type", value: "PATTERN", repeatable: true, help: "only types of that name; * stands for anything")
  static let excludeType = OptionSpec.option(
    "--exclude-type", value: "PATTERN", repeatable: true, help: "without types of that name")
  static let kind = OptionSpec.option(
    "--kind", value: "KIND,…", help: "only these: " + ObjectKind.known.map(\.description).joined(separator: ", "))
  static let module = OptionSpec.option("--module", value: "NAME", repeatable: true, help: "only types of that module")
  static let from = OptionSpec.option(
    "--from", value: "MARK|TIME", help: "only objects born after it; TIME as 12.5s, 850ms, 2m since the start")
  static let to = OptionSpec.option("--to", value: "MARK|TIME", help: "as things were then")
  static let atPeak = OptionSpec.flag(
    "--at-peak", help: "as things were when most bytes of the heap lived (after --from): the exact event")
  static let markAt = OptionSpec.option(
    "--mark-at", value: "TIME[:NAME]", repeatable: true, help: "as if a mark had been set then")
  static let symbols = OptionSpec.option(
    "--symbols", value: "DIR", repeatable: true,
    help: "the files that ran, where they lie elsewhere now: by their paths (an image's root) or by name")
  static let debugPath = OptionSpec.option(
    "--debug-path", value: "DIR", repeatable: true,
    help: "separate debug files, as in /usr/lib/debug: by build-id or by the name of a debug link")
  static let sysroot = OptionSpec.option(
    "--sysroot", value: "DIR", repeatable: true,
    help: "the root of the system that ran: files by their paths in it, debug files in its usr/lib/debug")
  static let sort = OptionSpec.option("--sort", value: "COLUMN", help: "order by a column, by its name in --columns")
  static let columns = OptionSpec.option("--columns", value: "COLUMN,…", help: "the columns to show, in this order")
  static let limit = OptionSpec.option("--limit", value: "N", help: "so many rows at most, from 1")
  static let format = OptionSpec.choice("--format", of: ReportFormat.tables.map(\.rawValue), help: "default table")
  static let color = OptionSpec.choice("--color", of: ["auto", "always", "never"], help: "default auto: on a terminal")

  static let mallocBy = OptionSpec.choice(
    "--malloc-by", of: ["size", "caller"],
    help: "rows of malloc blocks: by size, or by the library or program that allocates them; default size")

  static let types = [type, excludeType, kind, module, mallocBy]
  static let window = [from, to, atPeak]
  static let table = [.json, format, columns, sort, limit, color]

  /// The paragraph of a command's help that names its columns.
  static func columnsParagraph(_ keys: [String], _ what: String = "columns") -> String {
    TextStyle.wrapped("\(what): " + keys.joined(separator: ", ")).joined(separator: "\n")
  }

  /// What every reading command's help says of TRACE.
  static let traceParagraph = """
    TRACE is a file, the PID of a recording that runs, or left out: the newest *.lifespan here.
    """
}
