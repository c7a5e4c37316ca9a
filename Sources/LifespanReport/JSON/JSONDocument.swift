// A JSON document that is written piece by piece: lists may hold millions of elements. Used by the renderers of objects.

/// A document whose long lists are made while they are written.
struct JSONDocument {
  /// Consecutive members of the document.
  enum Part {
    case members([JSONValue.Member])
    /// A list, one element a line.
    case list(key: String, count: Int, element: (Int) -> JSONValue)
    /// Members that are asked for after everything before them was written.
    case late(() -> [JSONValue.Member])
  }

  let parts: [Part]
  /// Text is handed out in pieces of about this size.
  private static let pieceLength = 1 << 16

  /// Hands out the text piece by piece; it ends with a newline.
  func write(_ use: (String) -> Void) {
    var piece = "{"
    var isFirst = true
    func begin(_ key: String) {
      piece += (isFirst ? "\n " : ",\n ") + JSONValue.string(key).text + ":"
      isFirst = false
    }
    func add(_ members: [JSONValue.Member]) {
      for member in members {
        begin(member.key)
        piece += member.value.text(atDepth: 1)
      }
    }
    for part in parts {
      switch part {
      case .members(let members): add(members)
      case .late(let members): add(members())
      case .list(let key, let count, let element):
        begin(key)
        piece += "["
        for index in 0..<count {
          piece += (index == 0 ? "\n  " : ",\n  ") + element(index).text(atDepth: .max)
          guard piece.utf8.count >= Self.pieceLength else { continue }
          use(piece)
          piece = ""
        }
        piece += count == 0 ? "]" : "\n ]"
      }
    }
    use(piece + "\n}\n")
  }
}
