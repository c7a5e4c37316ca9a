// What ArgumentParser makes of a command line; read by the subcommands.

/// Options and operands of one subcommand, in the order in which they were typed.
struct ParsedArguments: Sendable {
  /// One option as typed, under its first spelling.
  struct Given: Sendable, Equatable {
    let name: String
    let value: String
  }

  var given: [Given] = []
  /// Words that are no options; for `record`: the program and its arguments.
  var operands: [String] = []

  func has(_ name: String) -> Bool { given.contains { $0.name == name } }

  /// The value of an option that can be given once.
  func value(_ name: String) -> String? { given.last { $0.name == name }?.value }

  /// All values of a repeatable option, in order.
  func values(_ name: String) -> [String] { given.filter { $0.name == name }.map(\.value) }

  /// Several repeatable options in one order, as `--record` and `--ignore` need it.
  func inOrder(_ names: String...) -> [Given] { given.filter { names.contains($0.name) } }

  /// The value of `name` made into something by `parse`; a value that it does not take is a usage error that
  /// says what is `expected`.
  func value<Value>(_ name: String, expected: String, _ parse: (String) -> Value?) throws -> Value? {
    guard let text = value(name) else { return nil }
    guard let value = parse(text) else {
      throw UsageError.badValue(option: name, value: text, expected: expected)
    }
    return value
  }
}
