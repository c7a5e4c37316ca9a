// Generations and differences: who belongs where, and who is left.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct GenerationTests {
  @Test func eachGenerationShowsWhatIsLeftOfIt() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 32)
    let page = builder.type("App.Page", size: 100)
    let gone = builder.birth(node)
    builder.birth(node)
    builder.mark("warm")
    builder.birth(page)
    builder.birth(node)
    builder.death(gone)
    builder.mark()
    builder.birth(page)
    let generations = try builder.analysis().answer(GenerationsQuestion())
    #expect(
      generations
        == Generations(
          atMark: false,
          closed: [
            growth(0, "warm", 2000, [(node, "App.Node", 1, 32)], gone: 1),
            growth(1, "B", 5000, [(page, "App.Page", 1, 100), (node, "App.Node", 1, 32)]),
          ], open: growth(2, "C", 6000, [(page, "App.Page", 1, 100)])))
  }

  private func growth(
    _ number: UInt32, _ name: String, _ time: Int64, _ rows: [(TypeID, String, Int, Int64)],
    gone: Int = 0
  ) -> Generations.Growth {
    let goneBytes = ByteCount(Int64(gone) * 32)
    return Generations.Growth(
      generation: Generation(number), name: name, time: TraceTime(time),
      growthBytes: ByteCount(rows.reduce(0) { $0 + $1.3 }), persistentCount: rows.reduce(0) { $0 + $1.2 },
      transientCount: gone, transientBytes: goneBytes,
      rows: rows.map { id, name, count, bytes in
        Generations.Row(
          type: TypeIdentity(id: id, name: name, rawName: name, kind: .classInstance, module: "App"),
          persistentCount: count, persistentBytes: ByteCount(bytes), transientCount: gone, transientBytes: goneBytes)
      })
  }

  @Test func theLifespanFilterChoosesRowsAndLeavesTheSums() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 32)
    let page = builder.type("App.Page", size: 100)
    builder.birth(node)
    let later = builder.birth(page)
    builder.mark("a")
    builder.death(later)
    let analysis = try builder.analysis()
    let (living, destroyed, all) = try analysis.answer(
      GenerationsQuestion(), GenerationsQuestion(lifespan: .destroyed), GenerationsQuestion(lifespan: .all))
    #expect(living.closed[0].rows.map(\.type.name) == ["App.Node"])
    #expect(destroyed.closed[0].rows.map(\.type.name) == ["App.Page"])
    #expect(destroyed.closed[0].rows.map(\.transientBytes) == [ByteCount(100)])
    #expect(all.closed[0].rows.map(\.type.name) == ["App.Node", "App.Page"])
    for answer in [living, destroyed, all] {
      #expect([answer.closed[0].persistentCount, answer.closed[0].transientCount] == [1, 1])
    }
    let atMark = try analysis.answer(GenerationsQuestion(atMark: true, lifespan: .destroyed))
    #expect(atMark.closed[0].rows.isEmpty && atMark.closed[0].persistentCount == 2)
  }

  @Test func atMarkLooksAtEachGenerationWhenItsMarkWasSet() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    let diedInside = builder.birth(node)
    let diedLater = builder.birth(node)
    let keptLater = builder.birth(node)
    builder.birth(node)
    builder.death(diedInside)
    builder.mark("a")
    builder.death(diedLater)
    builder.deinitEnded(keptLater)
    builder.mark("b")
    let analysis = try builder.analysis()
    let (end, mark) = try analysis.answer(GenerationsQuestion(), GenerationsQuestion(atMark: true))
    #expect(lines(end) == ["a 1/64: App.Node 1/64", "b 0/0:", "C? 0/0:"])
    #expect(lines(mark) == ["a 3/96: App.Node 3/96", "b 0/0:", "C? 0/0:"])
  }

  @Test func aLateBirthBelongsToTheGenerationOfItsStamp() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    builder.birth(node)
    builder.mark("a")
    builder.birth(node)
    builder.birth(node, at: Ticks(500))
    builder.mark("b")
    builder.birth(node, at: Ticks(1500))
    builder.birth(node, at: Ticks(400))
    let analysis = try builder.analysis()
    #expect(
      try lines(analysis.answer(GenerationsQuestion())) == [
        "a 3/96: App.Node 3/96", "b 2/64: App.Node 2/64", "C? 0/0:",
      ])
    #expect(
      line(try analysis.answer(StatisticsQuestion(window: TimeWindow(from: .mark("a")))).total)
        == "living 2/64 destroyed 0/0")
  }

  @Test func severalMarksInOneRoundMakeEmptyGenerations() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    builder.mark("start")
    builder.birth(node)
    builder.mark("one")
    builder.mark("two")
    builder.mark("two")
    builder.birth(node)
    let analysis = try builder.analysis()
    #expect(
      try lines(analysis.answer(GenerationsQuestion())) == [
        "start 0/0:", "one 1/32: App.Node 1/32", "two 0/0:", "two 0/0:", "E? 1/32: App.Node 1/32",
      ])
    // Of several marks with one name the last is meant.
    #expect(
      line(try analysis.answer(StatisticsQuestion(window: TimeWindow(from: .mark("two")))).total)
        == "living 1/32 destroyed 0/0")
  }

  @Test func marksSetAfterwardsSplitGenerations() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    builder.birth(node)  // 0
    builder.birth(node)  // 1,000
    builder.mark("real")  // 2,000
    builder.birth(node)  // 2,000
    builder.birth(node)  // 3,000
    builder.birth(node, at: Ticks(900))  // late: before both
    let analysis = try builder.analysis(
      LaterMark(time: TraceTime(2500), name: "late"), LaterMark(time: TraceTime(1000)))
    #expect(
      try lines(analysis.answer(GenerationsQuestion())) == [
        "A 2/64: App.Node 2/64", "real 1/32: App.Node 1/32", "late 1/32: App.Node 1/32", "D? 1/32: App.Node 1/32",
      ])
    #expect(try analysis.information().marks.map(\.name) == ["A", "real", "late"])
    #expect(
      line(
        try analysis.answer(
          StatisticsQuestion(window: TimeWindow(from: .mark("A"), to: .mark("late")))
        ).total) == "living 2/64 destroyed 0/0")
  }

  @Test func generationsOfTwoChunksKeepTheirMarks() throws {
    var builder = TraceBuilder()
    builder.chunkEvents = 2
    let node = builder.type("App.Node")
    for name in ["a", "b", "c"] {
      for _ in 0..<3 { builder.birth(node) }
      builder.mark(name)
    }
    #expect(
      try lines(builder.analysis().answer(GenerationsQuestion())) == [
        "a 3/96: App.Node 3/96", "b 3/96: App.Node 3/96", "c 3/96: App.Node 3/96", "D? 0/0:",
      ])
  }

  @Test func aDifferenceSortsObjectsIntoNewDeadSurvivedAndTransient() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 32)
    let page = builder.type("App.Page", size: 100)
    let deadBefore = builder.birth(node)
    let dies = builder.birth(node)
    builder.birth(node)
    let kept = builder.birth(node)
    builder.death(deadBefore)
    builder.mark("one")
    builder.death(dies)
    builder.deinitEnded(kept)
    builder.birth(page)
    builder.death(builder.birth(page))
    let laterDead = builder.birth(page)
    builder.mark("two")
    builder.death(laterDead)
    builder.birth(node)
    let difference = try builder.analysis().answer(DifferenceQuestion(from: .mark("one"), to: .mark("two")))
    #expect(
      lines(difference) == [
        "App.Page new 2/200 dead 0/0 survived 0/0 transient 1/100",
        "App.Node new 0/0 dead 2/32 survived 1/64 transient 0/0",
      ])
    #expect(difference.total.new == Difference.Amount(count: 2, bytes: ByteCount(200)))
    #expect(difference.total.survived == Difference.Amount(count: 1, bytes: ByteCount(64)))
  }

  @Test func aDifferenceOfMarksInTheWrongOrderIsRefused() throws {
    var builder = TraceBuilder()
    builder.mark("one")
    builder.mark("two")
    let analysis = try builder.analysis()
    #expect(throws: Analysis.Failure.self) {
      try analysis.answer(DifferenceQuestion(from: .mark("two"), to: .mark("one")))
    }
    #expect(throws: Analysis.Failure.self) {
      try analysis.answer(DifferenceQuestion(from: .mark("one"), to: .mark("one")))
    }
    // Two marks with one stamp still stand in an order.
    #expect(try analysis.answer(DifferenceQuestion(from: .mark("one"), to: .mark("two"))).rows.isEmpty)
  }
}
