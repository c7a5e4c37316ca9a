// Turns a subcommand's words into ParsedArguments by its table of options. Called by main.swift.
// This folder could be replaced by swift-argument-parser: nothing outside it looks at a raw command line.

/// Parses the words after the subcommand's name.
struct ArgumentParser {
  let command: CommandSpec

  func parse(_ words: [String]) throws -> ParsedArguments {
    var result = ParsedArguments()
    var index = 0
    while index < words.count {
      let word = words[index]
      index += 1
      if word == "--" {
        result.operands += words[index...]
        break
      }
      guard word.hasPrefix("-"), word.count > 1 else {
        result.operands.append(word)
        if case .program = command.operands {
          result.operands += words[index...]
          break
        }
        continue
      }
      try take(option: word, from: words, at: &index, into: &result)
    }
    try check(result)
    return result
  }

  private func take(
    option word: String, from words: [String], at index: inout Int, into result: inout ParsedArguments
  ) throws {
    let (name, inline) = Self.split(word)
    guard let spec = (command.options + OptionSpec.common).first(where: { $0.names.contains(name) }) else {
      let known = (command.options + OptionSpec.common).flatMap(\.names)
      throw UsageError.unknownOption(name, nearest: Suggestion.nearest(to: name, among: known))
    }
    if !spec.repeatable, spec.value != nil, result.has(spec.name) {
      throw UsageError.givenTwice(name)
    }
    guard let placeholder = spec.value else {
      guard inline == nil else { throw UsageError.takesNoValue(name) }
      result.given.append(.init(name: spec.name, value: ""))
      return
    }
    let value: String
    if let inline {
      value = inline
    } else if index < words.count, words[index] != "--" {
      value = words[index]
      index += 1
    } else {
      throw UsageError.missingValue(option: name, value: placeholder)
    }
    if !spec.choices.isEmpty, !spec.choices.contains(value) {
      throw UsageError.badValue(option: name, value: value, expected: spec.choices.joined(separator: ", "))
    }
    result.given.append(.init(name: spec.name, value: value))
    for _ in 1..<max(1, spec.words) {
      guard index < words.count, words[index] != "--" else {
        throw UsageError.missingValue(option: name, value: placeholder)
      }
      result.given.append(.init(name: spec.name, value: words[index]))
      index += 1
    }
  }

  /// `--name=value` in its two parts; everything else is a name alone.
  private static func split(_ word: String) -> (name: String, value: String?) {
    guard word.hasPrefix("--"), let equals = word.firstIndex(of: "=") else { return (word, nil) }
    return (String(word[..<equals]), String(word[word.index(after: equals)...]))
  }

  private func check(_ result: ParsedArguments) throws {
    // Whoever asks for help or for the version needs no operands.
    if OptionSpec.common.contains(where: { result.has($0.name) }) { return }
    switch command.operands {
    case .program:
      if result.operands.isEmpty { throw UsageError.missingOperand(command.usage) }
    case .count(let range):
      if result.operands.count < range.lowerBound { throw UsageError.missingOperand(command.usage) }
      if result.operands.count > range.upperBound {
        throw UsageError.extraOperand(result.operands[range.upperBound])
      }
    }
  }
}
