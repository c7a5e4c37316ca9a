// Classes, arrays, strings, closures, generics and a recursion, all allocating: the ordinary Swift program.
final class Node {
  var children: [Node] = []
  var name: String
  init(_ name: String) { self.name = name }
}

@inline(never) func build(_ depth: Int) -> Node {
  let node = Node("node number \(depth) with a name too long to be stored inline")
  if depth > 0 { for _ in 0..<2 { node.children.append(build(depth - 1)) } }
  return node
}

@inline(never) func transform<T, U>(_ values: [T], _ body: (T) -> U) -> [U] { values.map(body) }

nonisolated(unsafe) var kept: [Any] = []
for round in 0..<20 {
  let root = build(6)
  kept.append(transform(root.children) { $0.name + String(round) })
  kept.append(Dictionary(uniqueKeysWithValues: (0..<50).map { ($0, "\($0)") }))
  if kept.count > 20 { kept.removeAll() }
}
print("done", kept.count)
