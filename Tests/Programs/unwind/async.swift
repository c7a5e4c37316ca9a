// Actors, task groups and async calls that allocate what escapes, so that the optimiser leaves it in the heap.
final class Box { var value: Int; init(_ value: Int) { self.value = value } }

actor Store {
  var boxes: [Box] = []
  func add(_ number: Int) async -> Int {
    boxes.append(Box(number))
    await Task.yield()
    if boxes.count > 50 { boxes.removeAll() }
    return boxes.count
  }
}

@inline(never) func leaf(_ store: Store, _ number: Int) async -> [Box] {
  var boxes = [Box(number)]
  await Task.yield()
  boxes.append(Box(number + 1))
  _ = await store.add(number)
  return boxes
}

@inline(never) func middle(_ store: Store, _ number: Int) async -> Int {
  let boxes = await leaf(store, number)
  let names = boxes.map { "box number \($0.value) with a long name" }
  return names.count + (await store.add(names[0].count))
}

@main struct Program {
  static func main() async {
    let store = Store()
    var total = 0
    for number in 0..<200 { total &+= await middle(store, number) }
    await withTaskGroup(of: Int.self) { group in
      for number in 0..<20 { group.addTask { await middle(store, number) } }
      for await value in group { total &+= value }
    }
    print("done", total > 0)
  }
}
