// Closures, enums, dictionaries, existentials, buffers, initialisers that fail, key paths, unmanaged references, boxes, weak and unowned ones.

class Node {
  var next: Node?
  weak var parent: Node?
  unowned(safe) var owner: Node?
  var name: String
  init(_ name: String) { self.name = name }
}

final class Leaf: Node {
  var values: [Int] = []
}

indirect enum Tree {
  case empty
  case leaf(Node)
  case pair(Tree, Tree)
}

protocol Shape { var node: Node { get } }
struct Large: Shape {
  var a = 1, b = 2, c = 3
  var node: Node
  var other: Node
}
struct Small: Shape { var node: Node }

struct Failed: Error { let node: Node }

class Checked {
  let one: Node
  let two: Node
  init(_ value: Int) throws {
    one = Node("one")
    if value % 3 == 0 { throw Failed(node: one) }
    two = Node("two")
    if value % 3 == 1 { throw Failed(node: two) }
  }
}
final class Maybe: Checked {
  let three: Node
  init?(maybe value: Int) {
    guard value % 5 != 0 else { return nil }
    three = Node("three")
    do { try super.init(value) } catch { return nil }
  }
}

final class Buffer: ManagedBuffer<Int, Node> {
  deinit { _ = withUnsafeMutablePointers { header, elements in elements.deinitialize(count: header.pointee) } }
}

@inline(never) func hide<T>(_ value: T) -> T { value }

@inline(never) func swapOwners(_ nodes: inout [Node]) {
  for index in nodes.indices.dropLast() {
    let one = nodes[index]
    nodes[index] = nodes[index + 1]
    nodes[index + 1] = one
  }
}

func closures() {
  var functions: [(Int) -> Int] = []
  for number in 0..<40 {
    let node = Node("captured \(number)")
    var count = number
    functions.append { step in
      count += step
      node.name = "\(count)"
      return count
    }
    functions.append { [weak node] step in step + (node == nil ? 0 : 1) }
    functions.append { [unowned node] _ in node.name.count }
    keep(node)
  }
  for function in functions { _ = hide(function(2)) }
  let composed = functions.reduce({ $0 }) { one, two in { two(one($0)) } }
  _ = composed(1)
  keep(functions[0])
  keep(composed)
}

func enums() {
  var tree = Tree.empty
  for number in 0..<60 { tree = .pair(tree, .leaf(Node("leaf \(number)"))) }
  var copy = tree
  var depth = 0
  while case .pair(let rest, let leaf) = copy {
    if depth % 7 == 0 { keep(leaf) }
    copy = rest
    depth += 1
  }
  keep(tree)
  keep(Optional<Optional<Node>>.some(.some(Node("twice optional"))) as Any)
}

func dictionaries() {
  var byName: [String: Node] = [:]
  var sets: Set<String> = []
  for number in 0..<300 {
    byName["a long name that is kept in a heap object \(number)"] = Node("\(number)")
    sets.insert("another long name that is kept in a heap object \(number % 50)")
  }
  var copy = byName
  for (name, node) in byName where node.name.hasSuffix("7") { copy[name] = nil }
  for (name, _) in copy { copy[name, default: Node("")].name += "!" }
  let grouped = Dictionary(grouping: copy.values) { $0.name.count }
  keep(copy)
  keep(sets)
  keep(grouped)
  keep(copy.values.map(\.name).sorted())
}

func existentials() {
  var shapes: [any Shape] = []
  let shared = Node("shared")
  for number in 0..<50 {
    shapes.append(Large(node: Node("\(number)"), other: shared))
    shapes.append(Small(node: shared))
  }
  let copy = shapes
  shapes.removeAll { $0 is Small }
  for shape in copy { if let large = shape as? Large { _ = hide(large.node) } }
  keep(copy)
  keep(shapes as [Any])
  keep(AnyHashable("hashable text that is too long for a small string"))
}

func buffers() {
  for size in [1, 8, 64] {
    let buffer = Buffer.create(minimumCapacity: size) { _ in size }
    buffer.withUnsafeMutablePointerToElements { elements in
      for index in 0..<size { (elements + index).initialize(to: Node("element \(index)")) }
    }
    keep(buffer)
    _ = Buffer.create(minimumCapacity: size) { _ in 0 }
  }
  var nodes = (0..<100).map { Node("\($0)") }
  swapOwners(&nodes)
  nodes.sort { $0.name < $1.name }
  keep(ContiguousArray(nodes[10..<30]))
  keep(nodes)
}

func failing() {
  for number in 0..<90 {
    do { keep(try Checked(number)) } catch let error as Failed {
      if number % 4 == 0 { keep(error.node) }
      if number % 9 == 0 { keep(error) }
    } catch {}
    if let maybe = Maybe(maybe: number) { keep(maybe) }
  }
}

func keyPaths() {
  let name = \Node.name
  let next: ReferenceWritableKeyPath<Node, String?> = \Node.optionalName
  let node = Node("key path")
  node.next = Node("next")
  for _ in 0..<20 { _ = hide(node[keyPath: name]) }
  let appended: KeyPath<Node, Int> = name.appending(path: \.count)
  _ = node[keyPath: appended]
  keep(next)
  keep(appended)
  keep(node)
  for child in Mirror(reflecting: node).children { keep(child.value) }
}

extension Node {
  var optionalName: String? {
    get { name }
    set { name = newValue ?? "" }
  }
}

func unmanaged() {
  for number in 0..<30 {
    let reference = Unmanaged.passRetained(Node("unmanaged \(number)"))
    _ = reference.retain().retain()
    reference.release()
    reference.release()
    if number % 2 == 0 { keep(reference.takeUnretainedValue()) }
    if number % 3 == 0 { reference.release() } else { keep(reference.takeRetainedValue()) }
    let opaque = Unmanaged.passUnretained(Node("gone")).toOpaque()
    _ = hide(opaque)
  }
}

func references() {
  let root = Node("root")
  var last = root
  for number in 0..<80 {
    let node = number % 2 == 0 ? Node("\(number)") : Leaf("\(number)")
    node.parent = last
    node.owner = root
    last.next = node
    last = node
  }
  var node: Node? = root
  var steps = 0
  while let current = node {
    if let parent = current.parent { steps += parent.name.count }
    if let owner = current.owner { steps += owner.name.count }
    node = current.next
  }
  weak var gone: Node?
  do {
    let node = Node("gone at the end of its scope")
    gone = node
    keep(gone?.name as Any)
  }
  keep(gone as Any)
  keep(root)
  keep(steps)
  var box = root
  let change = { box = Node("in the box") }
  change()
  keep(box)
  keep(change)
}

func values() {
  for kind in [closures, enums, dictionaries, existentials, buffers, failing, keyPaths, unmanaged, references] {
    kind()
    rest()
  }
}
