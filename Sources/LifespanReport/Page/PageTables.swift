// What the page's sections refer to by number: texts, frames, stacks as a tree, types. Filled while the sections are written, and
// written after them.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// Numbers for values, in the order in which they come.
struct Interner<Value: Hashable> {
  private(set) var values: [Value] = []
  private var numbers: [Value: Int] = [:]

  mutating func number(of value: Value) -> Int {
    if let known = numbers[value] { return known }
    numbers[value] = values.count
    values.append(value)
    return values.count - 1
  }
}

/// The shared tables of a page.
final class PageTables {
  private struct Node: Hashable {
    let parent: Int
    let frame: Int
  }

  let names: ReportNames
  private var texts = Interner<String>()
  private var types = Interner<TypeIdentity>()
  private var frames = Interner<Frame>()
  private var nodes = Interner<Node>()
  private var stacks: [StackID: Int] = [:]
  /// By the number of a stack: the node of its innermost frame, −1 without frames; and the text of what keeps it from being whole.
  private var leaves: [Int] = []
  private var endings: [Int] = []

  init(names: ReportNames) { self.names = names }

  /// A text as it may be shown: what would turn or hide the letters around it is written as an escape.
  func text(_ text: String) -> Int { texts.number(of: text.printable) }

  func type(_ type: TypeIdentity) -> Int { types.number(of: type) }

  /// Frames from the innermost outwards, so the tree grows from the other end.
  func stack(_ id: StackID) -> Int {
    if let known = stacks[id] { return known }
    var node = -1
    for frame in names.frames(of: id).reversed() {
      node = nodes.number(of: Node(parent: node, frame: frames.number(of: frame)))
    }
    leaves.append(node)
    endings.append(names.ending(of: id).map { text($0) } ?? -1)
    stacks[id] = leaves.count - 1
    return leaves.count - 1
  }

  /// To be written last: everything else asks for numbers.
  func write(to page: inout PageText) {
    page.object("types") { page in
      page.column("name", types.values.map { text(names.name(of: $0)) })
      page.column("kind", types.values.map { text($0.kind.description) })
      page.column("module", types.values.map { text(names.module(of: $0)) })
      page.column("heap", types.values.map { $0.kind.isOnHeap ? 1 : 0 })
    }
    page.object("frames") { page in
      page.column("function", frames.values.map { text($0.function) })
      page.column("module", frames.values.map { text($0.module) })
      page.column("file", frames.values.map { frame in frame.file.map { text($0) } ?? -1 })
      page.column("line", frames.values.map { $0.line ?? 0 })
      page.column("offset", frames.values.map { $0.offset.map { Int64(clamping: $0) } ?? -1 })
      page.column("inlined", frames.values.map { $0.inlined ? 1 : 0 })
      page.column("own", frames.values.map { $0.isOwn ? 1 : 0 })
    }
    page.object("nodes") { page in
      page.column("parent", nodes.values.map(\.parent))
      page.column("frame", nodes.values.map(\.frame))
    }
    page.object("stacks") { page in
      page.column("leaf", leaves)
      page.column("ending", endings)
    }
    page.strings("texts", texts.values)
  }
}
