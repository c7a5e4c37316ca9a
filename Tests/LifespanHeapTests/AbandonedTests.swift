// The verdict "abandoned", on programs that mark their rounds.
import LifespanAnalysis
import LifespanTrace
import Testing

@testable import LifespanHeap

@Suite struct AbandonedTests {
  /// A heap after rounds: of each type so many objects live from each round; those beyond `reachable` are lost.
  private func rounds(
    _ types: [String: [Int]], lost: [String: [Int]] = [:], dead: [String: [Int]] = [:], open: [String: Int] = [:]
  ) throws -> Heap {
    var picture = Picture()
    let cache = picture.object("App.Cache")
    picture.root(cache, "App.cache")
    let count = (Array(types.values) + Array(lost.values)).map(\.count).max() ?? 0
    for round in 0..<count {
      for (type, living) in types.sorted(by: { $0.key < $1.key }) where round < living.count {
        for _ in 0..<living[round] { picture.edge(cache, "[\(round)]", picture.object(type)) }
      }
      for (type, living) in lost where round < living.count {
        for _ in 0..<living[round] { _ = picture.object(type) }
      }
      for (type, gone) in dead where round < gone.count {
        let id = picture.trace.type(type)
        for _ in 0..<gone[round] { picture.trace.death(picture.trace.birth(id)) }
      }
      picture.trace.mark("round \(round + 1)")
    }
    for (type, living) in open { for _ in 0..<living { picture.edge(cache, "open", picture.object(type)) } }
    return try picture.heap()
  }

  private func names(_ heap: Heap) -> [String] {
    heap.abandoned().types.filter(\.isHead).map { "\($0.type.name) \($0.count)" }
  }

  @Test func growthInEveryRoundIsAbandoned() throws {
    let heap = try rounds(["App.Page": [2, 1, 3, 1]], open: ["App.Page": 5])
    #expect(names(heap) == ["App.Page 12"])
    let page = try #require(heap.abandoned().types.first)
    #expect(page.perGeneration == [2, 1, 3, 1, 5])
    #expect(page.path?.root?.label == "App.cache")
    #expect(page.path?.steps.map(\.type.name) == ["App.Cache", "App.Page"])
  }

  @Test func aCacheThatStandsStillIsNot() throws {
    // Filled once; replaced in every round; dead in one round only.
    #expect(try names(rounds(["App.A": [8, 0, 0, 0], "App.B": [0, 0, 0, 32], "App.C": [1, 1, 0, 1]])) == [])
    #expect(try names(rounds(["App.B": [0, 2, 2, 2, 2]], dead: ["App.B": [3, 0, 0, 0, 0]])) == [])
  }

  @Test func aRoundBeforeTheTypeSpeaksNotAgainstIt() throws {
    #expect(try names(rounds(["App.Page": [0, 1, 1, 1, 1]])) == ["App.Page 4"])
    #expect(try names(rounds(["App.Page": [0, 1, 1, 1]])) == [])
    #expect(try names(rounds(["App.Page": [1, 1, 1, 1, 0]])) == [])
  }

  /// Each page has an array that comes with it, and one of them a leaf: heads, what is below, what grows along.
  @Test func rolesTellHeadsFromWhatHangsBelow() throws {
    var picture = Picture()
    let cache = picture.object("App.Cache")
    picture.root(cache, "App.cache")
    for round in 0..<4 {
      let page = picture.object("App.Page")
      picture.edge(cache, "[\(round)]", page)
      picture.edge(page, "list", picture.object("Swift.List"))
      if round == 2 { picture.edge(page, "leaf", picture.object("App.Leaf")) }
      picture.trace.mark("round \(round + 1)")
    }
    let naming = HeapNaming(isToolchainType: { $0.name.hasPrefix("Swift.") })
    let types = try picture.heap().abandoned(naming).types
    let roles = types.map { "\($0.type.name) \($0.role.rawValue)" }
    #expect(roles == ["App.Page head", "App.Leaf below", "Swift.List grows-along"])
  }

  @Test func threeRoundsAreTooFew() throws {
    let heap = try rounds(["App.Page": [1, 1, 1]])
    #expect(names(heap) == [])
    #expect(heap.abandoned().withheld?.hasPrefix("3 marks, 4 are needed") == true)
  }

  @Test func theLeakedDoNotCount() throws {
    #expect(try names(rounds([:], lost: ["App.Page": [1, 1, 1, 1]])) == [])
    #expect(try names(rounds(["App.Page": [1, 1, 0, 1]], lost: ["App.Page": [0, 0, 1, 0]])) == [])
    #expect(try names(rounds(["App.Page": [1, 1, 1, 1]], lost: ["App.Page": [2, 2, 2, 2]])) == ["App.Page 4"])
  }

  /// A run loop and its timers are of one type, which grows; what else hangs on the run loop is not theirs.
  @Test func nothingIsBelowATypeOfTheToolchain() throws {
    var picture = Picture()
    let loop = picture.object("Foundation.Thing")
    picture.root(loop, "App.loop")
    picture.edge(loop, "cached", picture.object("App.Once"), offset: 24)
    for round in 0..<4 {
      let timer = picture.object("Foundation.Thing")
      picture.edge(loop, "[\(round)]", timer, offset: UInt32(32 + 8 * round))
      picture.edge(timer, "block", picture.object("App.Screen"))
      picture.trace.mark("round \(round + 1)")
    }
    let naming = HeapNaming(isToolchainType: { $0.module == "Foundation" })
    let types = try picture.heap().abandoned(naming).types
    #expect(types.map { "\($0.type.name) \($0.count)" } == ["App.Screen 4", "Foundation.Thing 5"])
  }

  @Test func whatOnlyAbandonedObjectsHoldIsListedBelowThem() throws {
    var picture = Picture()
    let cache = picture.object("App.Cache")
    let shared = picture.object("App.Shared")
    picture.root(cache, "App.cache")
    picture.root(shared, "App.shared")
    for round in 0..<4 {
      let page = picture.object("App.Page")
      picture.edge(cache, "[\(round)]", page)
      picture.edge(page, "shared", shared)
      if round == 0 { picture.edge(page, "draft", picture.object("App.Draft"), offset: 24) }
      picture.edge(page, "text", picture.block(100), offset: 32)
      picture.trace.mark("round \(round + 1)")
    }
    let types = try picture.heap().abandoned().types
    #expect(
      types.map { "\($0.type.name) \($0.count) \($0.isHead)" }.prefix(2) == ["App.Page 4 true", "App.Draft 1 false"])
    #expect(types.count == 3 && types[2].bytes == 400)
    #expect(types[0].retainedBytes == 4 * 132 + 32)
  }
}
