// Type names as the runtime gives them, made plain: a private or local type goes by its name without its discriminator.
// Used by TypeCatalog.

/// Rewrites of type names.
public enum TypeName {
  /// The name without discriminators: `App.(unknown context at $1).Node` and `(Node in _AB12)` become `App.Node`;
  /// `Node #1 in App.run() -> ()` becomes `App.Node`. Generic arguments too.
  public static func plain(_ raw: String) -> String {
    guard raw.utf8.contains(UInt8(ascii: "(")) || raw.utf8.contains(UInt8(ascii: "#")) else { return raw }
    var name = Array(raw)
    removeUnknownContexts(&name)
    removeDiscriminators(&name)
    hoistLocals(&name)
    return String(name)
  }

  /// The first component of a plain name, when there is more than one: `App` of `App.Node<Swift.Int>`.
  public static func module(_ plain: String) -> String {
    var word = ""
    for character in plain {
      if character == "." { return word }
      guard isWord(character) else { return "" }
      word.append(character)
    }
    return ""
  }

  private static func isWord(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  /// `(unknown context at $7f00).`
  private static func removeUnknownContexts(_ name: inout [Character]) {
    let opening = Array("(unknown context at $")
    var index = 0
    while index + opening.count <= name.count {
      if name[index] == "(", name[index..<index + opening.count].elementsEqual(opening),
        let close = name[index...].firstIndex(of: ")")
      {
        let next = name.index(after: close)
        name.removeSubrange(index..<(next < name.count && name[next] == "." ? next + 1 : next))
      } else {
        index += 1
      }
    }
  }

  /// `(Name in _HASH)`: the name stays.
  private static func removeDiscriminators(_ name: inout [Character]) {
    let middle = Array(" in ")
    var index = 0
    while index < name.count {
      defer { index += 1 }
      guard name[index] == "(" else { continue }
      var end = index + 1
      while end < name.count, isWord(name[end]) { end += 1 }
      guard end > index + 1, end + middle.count < name.count, name[end..<end + middle.count].elementsEqual(middle),
        name[end + middle.count] == "_" || name[end + middle.count] == "$"
      else { continue }
      var close = end + middle.count + 1
      while close < name.count, isWord(name[close]) { close += 1 }
      guard close < name.count, name[close] == ")" else { continue }
      name.removeSubrange(end...close)
      name.remove(at: index)
    }
  }

  /// `Name #1 in Module.function(…) -> …` becomes `Module.Name`, also as a generic argument.
  private static func hoistLocals(_ name: inout [Character]) {
    let middle = Array(" in ")
    var search = 0
    while let hash = name[search...].firstIndex(of: "#") {
      search = hash + 1
      var after = hash + 1
      while after < name.count, name[after].isNumber { after += 1 }
      guard hash > 1, name[hash - 1] == " ", after > hash + 1, after + middle.count < name.count,
        name[after..<after + middle.count].elementsEqual(middle)
      else { continue }
      var start = hash - 1
      while start > 0, isWord(name[start - 1]) { start -= 1 }
      let context = after + middle.count
      let module = Array(name[context...].prefix { isWord($0) })
      guard start < hash - 1, !module.isEmpty else { continue }
      let local = module + ["."] + name[start..<hash - 1]
      name.replaceSubrange(start..<endOfContext(name, from: context), with: local)
      search = start + local.count
    }
  }

  /// Where a function's signature ends: at the end, or at the comma or bracket of the argument list around it.
  private static func endOfContext(_ name: [Character], from start: Int) -> Int {
    var depth = 0
    for index in start..<name.count {
      switch name[index] {
      case "(", "[", "<": depth += 1
      case ">" where name[index - 1] == "-": break
      case ")", "]", ">":
        if depth == 0 { return index }
        depth -= 1
      case "," where depth == 0: return index
      default: break
      }
    }
    return name.count
  }
}
