// An editor owns its document, the document tells it of changes by a handler, and the handler is a closure that captures the editor: three
// that hold each other.
//
// Variants:
//   strong   the handler captures the editor
//   weak     it captures it weakly
//   cleared  closing the editor takes the handler away
import Glibc

final class Document {
  var onChange: (() -> Void)?
  private(set) var text = ""
  func append(_ more: String) {
    text += more
    onChange?()
  }
}

final class Editor {
  private let document = Document()
  private(set) var redraws = 0

  func open() {
    if variant == "weak" {
      document.onChange = { [weak self] in self?.redraw() }
    } else {
      document.onChange = { self.redraw() }
    }
  }

  func type(_ text: String) { document.append(text) }
  func redraw() { redraws += 1 }
  func close() { if variant == "cleared" { document.onChange = nil } }
}

@inline(never) func edit(_ round: Int) -> Int {
  let editor = Editor()
  editor.open()
  editor.type("round \(round), a line that is too long for a small string")
  editor.close()
  return editor.redraws
}

@main struct Main {
  static func main() {
    guard ["strong", "weak", "cleared"].contains(variant) else { unknownVariant("strong", "weak", "cleared") }
    var redraws = 0
    rounds { redraws += edit($0) }
    print("\(redraws) redraws")
    fflush(stdout)
    exit(0)
  }
}
