// Dominators and retained sizes against their definition on random heaps; shortest and all paths.
import LifespanAnalysis
import LifespanTrace
import Testing

@testable import LifespanHeap

@Suite struct DominatorTests {
  private struct Random {
    var state: UInt64
    mutating func next(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((state >> 33) % UInt64(limit))
    }
  }

  /// Which nodes roots reach when one is taken out.
  private func reached(_ heap: Heap, without gone: Int) -> [Bool] {
    var seen = [Bool](repeating: false, count: heap.graph.nodes.count)
    var queue = heap.reach.roots.map { Int($0.target) }.filter { $0 != gone }
    for node in queue { seen[node] = true }
    while let node = queue.popLast() {
      for edge in heap.graph.edges(of: node) where heap.holding.holds[edge] {
        let target = heap.holding.target(edge)
        if target != gone, !seen[target] {
          seen[target] = true
          queue.append(target)
        }
      }
    }
    return seen
  }

  @Test(arguments: 1...60)
  func retainedIsWhatIsReachedNoMoreWithoutIt(seed: Int) throws {
    var random = Random(state: UInt64(seed))
    let count = 3 + random.next(12)
    var picture = Picture()
    let nodes = (0..<count).map { _ in picture.object("App.T", size: UInt64(16 + 16 * random.next(5))) }
    for _ in 0..<(count + random.next(2 * count)) {
      picture.edge(nodes[random.next(count)], "p", nodes[random.next(count)], random.next(8) == 0 ? .weak : .strong)
    }
    for _ in 0...random.next(3) { picture.root(nodes[random.next(count)]) }
    let heap = try picture.heap()
    let all = reached(heap, without: -1)
    for node in 0..<count {
      #expect(all[node] == (heap.reach.grades[node] != Reach.none))
      let without = reached(heap, without: node)
      let lost = (0..<count).filter { all[$0] && !without[$0] }
      #expect(
        heap.dominators.retained[node] == lost.reduce(0) { $0 + heap.graph.nodes.sizes[$1] }, "seed \(seed), \(node)")
    }
  }

  @Test func aLeftOverOnAStackTakesNothingFromAFirmHolder() throws {
    var picture = Picture()
    let (owner, item) = (picture.object("App.Owner"), picture.object("App.Item"))
    picture.root(owner)
    picture.edge(owner, "item", item)
    picture.root(item, kind: .stack, isFirm: false)
    #expect(try picture.heap().dominators.retained[Int(owner)] == 64)
  }

  @Test func aFirmRootsPathComesFirstThoughLonger() throws {
    var picture = Picture()
    let (list, node, item) = (picture.object("App.List"), picture.object("App.Node"), picture.object("App.Item"))
    picture.edge(list, "first", node)
    picture.edge(node, "item", item)
    picture.root(item, kind: .stack, isFirm: false)
    picture.root(list, "App.list")
    let heap = try picture.heap()
    let path = try #require(heap.shortestPath(to: Int(item)))
    #expect(path.root?.label == "App.list")
    #expect(path.steps.map(\.label) == ["first", "item", ""])
  }

  @Test func holdersOfATypeAreGroupedAndPathsDifferInShape() throws {
    var picture = Picture()
    let (cache, log) = (picture.object("App.Cache"), picture.object("App.Log"))
    picture.root(cache, "App.cache")
    picture.root(log, "App.log", kind: .threadLocal)
    let pages = (0..<5).map { _ in picture.object("App.Page") }
    for (index, page) in pages.enumerated() { picture.edge(cache, "[\(index)]", page) }
    picture.edge(log, "last", pages[4])
    picture.edge(log, "watched", pages[0], .weak)
    _ = picture.object("App.Page")
    let heap = try picture.heap()
    let holders = try heap.holders(of: .type("App.Pa*"), allPaths: true)
    #expect(holders.count == 6 && holders.unreachable == 1 && holders.bytes == 192)
    #expect(holders.direct.last?.step.strength == .weak && holders.direct.last?.holds == false)
    #expect(holders.paths.map { $0.root?.label } == ["App.cache", "App.log"])
    #expect(!holders.pathsCut)
    #expect(holders.retained.map(\.count) == [6] && holders.retainedBytes == 192)
    #expect(try heap.holders(of: .type("App.Page"), allPaths: true, limit: 1).pathsCut)
    #expect(throws: HeapQuestionError.unknownType("App.Pge", nearest: ["App.Page", "App.Log", "App.Cache"])) {
      try heap.holders(of: .type("App.Pge"))
    }
    #expect(throws: HeapQuestionError.unknownSerial(SerialNumber(99))) {
      try heap.holders(of: .serial(SerialNumber(99)))
    }
    #expect(try heap.holders(of: .address(ObjectAddress(0x10008))).objects.first?.type.name == "App.Cache")
  }

  /// A grid has more ways than can be counted: the search ends and says so.
  @Test func theSearchForAllPathsIsBounded() throws {
    var picture = Picture()
    let width = 30
    let nodes = (0..<width * width).map { index in picture.object("App.T\(index)") }
    for row in 0..<width {
      for column in 0..<width {
        let node = nodes[row * width + column]
        if column + 1 < width { picture.edge(node, "right", nodes[row * width + column + 1]) }
        if row + 1 < width { picture.edge(node, "down", nodes[(row + 1) * width + column], offset: 24) }
      }
    }
    picture.root(nodes[0])
    let heap = try picture.heap()
    let holders = try heap.holders(of: .type("App.T899"), allPaths: true)
    #expect(holders.pathsCut)
  }

  @Test func withinALeakThePathBeginsAtItsHead() throws {
    var picture = Picture()
    let (head, item) = (picture.object("App.Head"), picture.object("App.Item"))
    picture.edge(head, "item", item)
    let holders = try picture.heap().holders(of: .type("App.Item"))
    #expect(holders.paths.isEmpty && holders.leakPath?.steps.map(\.type.name) == ["App.Head", "App.Item"])
  }
}
