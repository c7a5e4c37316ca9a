// Counts by type: who lives, who is destroyed, whose memory is kept.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct StatisticsTests {
  @Test func livingAndDestroyedAddUpByType() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 32)
    let page = builder.type("App.Page", size: 4096)
    let unused = builder.type("App.Unused")
    _ = unused
    let first = builder.birth(node)
    builder.birth(node, size: 48)
    builder.birth(page)
    builder.death(first)
    let statistics = try builder.analysis().answer(StatisticsQuestion(lifespan: .all))
    #expect(
      statistics
        == Statistics(
          lifespan: .all,
          rows: [
            Statistics.Row(
              type: TypeIdentity(
                id: page, name: "App.Page", rawName: "App.Page", kind: .classInstance, module: "App"),
              tally: Tally(persistentCount: 1, persistentBytes: ByteCount(4096))),
            Statistics.Row(
              type: TypeIdentity(
                id: node, name: "App.Node", rawName: "App.Node", kind: .classInstance, module: "App"),
              tally: Tally(
                persistentCount: 1, persistentBytes: ByteCount(48), transientCount: 1, transientBytes: ByteCount(32))),
          ],
          total: Tally(
            persistentCount: 2, persistentBytes: ByteCount(4144), transientCount: 1, transientBytes: ByteCount(32)),
          totalsByKind: [
            Statistics.KindTotal(
              kind: .classInstance,
              tally: Tally(
                persistentCount: 2, persistentBytes: ByteCount(4144), transientCount: 1, transientBytes: ByteCount(32)))
          ]))
  }

  @Test func theLifespanFilterChoosesRowsAndLeavesTotals() throws {
    var builder = TraceBuilder()
    let kept = builder.type("App.Kept")
    let gone = builder.type("App.Gone")
    builder.birth(kept)
    builder.death(builder.birth(gone))
    let analysis = try builder.analysis()
    let (all, living, destroyed) = try analysis.answer(
      StatisticsQuestion(lifespan: .all), StatisticsQuestion(lifespan: .living),
      StatisticsQuestion(lifespan: .destroyed))
    #expect(lines(all) == ["App.Kept living 1/32 destroyed 0/0", "App.Gone living 0/0 destroyed 1/32"])
    #expect(lines(living) == ["App.Kept living 1/32 destroyed 0/0"])
    #expect(lines(destroyed) == ["App.Gone living 0/0 destroyed 1/32"])
    #expect(line(living.total) == "living 1/32 destroyed 1/32")
    #expect(living.total == all.total && all.total == destroyed.total)
  }

  @Test func countsFollowTheDeinitAndBytesTheMemory() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 64)
    let kept = builder.birth(node)
    let freedLater = builder.birth(node)
    builder.birth(node)
    builder.deinitEnded(kept)
    builder.deinitEnded(freedLater)
    builder.free(freedLater)
    let analysis = try builder.analysis()
    #expect(
      try lines(analysis.answer(StatisticsQuestion())) == ["App.Node living 1/128 destroyed 2/64 kept 1/64"])
  }

  @Test func keptMemoryAloneIsStillLiving() throws {
    var builder = TraceBuilder()
    builder.deinitEnded(builder.birth(builder.type("App.Node")))
    #expect(
      try lines(builder.analysis().answer(StatisticsQuestion())) == ["App.Node living 0/32 destroyed 1/0 kept 1/32"])
  }

  @Test func plainFreesAndReusedAddressesEndObjects() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    builder.plainFree(builder.birth(node))
    builder.endNotSeen(builder.birth(node))
    let keptAndFreed = builder.birth(node)
    builder.deinitEnded(keptAndFreed)
    builder.plainFree(keptAndFreed)
    #expect(
      try lines(builder.analysis().answer(StatisticsQuestion(lifespan: .all))) == [
        "App.Node living 0/0 destroyed 3/96"
      ])
  }

  @Test func deathsWithoutBirthAreCountedApart() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    builder.unknownDeath(address: 0x1000)
    builder.birth(node)
    builder.unknownDeath(address: 0x2000)
    let statistics = try builder.analysis().answer(StatisticsQuestion())
    #expect(lines(statistics) == ["App.Node living 1/32 destroyed 0/0"])
    #expect(statistics.unknownDeaths == 2)
  }

  @Test func aSecondDeathChangesNothing() throws {
    var builder = TraceBuilder()
    let first = builder.birth(builder.type("App.Node"))
    builder.death(first)
    builder.death(first)
    builder.deinitEnded(first)
    #expect(
      try lines(builder.analysis().answer(StatisticsQuestion(lifespan: .all))) == [
        "App.Node living 0/0 destroyed 1/32"
      ])
  }

  @Test func resizedObjectsCountWithTheirLastSize() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Buffer", size: 100)
    let living = builder.birth(node)
    let dead = builder.birth(node)
    let kept = builder.birth(node)
    builder.move(living, to: 0x9000, size: 500)
    builder.move(living, to: 0x9000, size: 300)
    builder.move(dead, to: 0x8000, size: 50)
    builder.move(kept, to: 0x7000, size: 200)
    builder.deinitEnded(kept)
    builder.death(dead)
    #expect(
      try lines(builder.analysis().answer(StatisticsQuestion())) == [
        "App.Buffer living 1/500 destroyed 2/50 kept 1/200"
      ])
  }

  @Test func aBlockBelongsToTheRowThatItHasComeTo() throws {
    var builder = TraceBuilder()
    builder.info.append(InfoRecord(key: "malloc", value: "all"))
    let small = builder.type("malloc 64 B", kind: .malloc)
    let large = builder.type("malloc 1 KiB", kind: .malloc)
    let grown = builder.birth(small, size: 60, stack: builder.stack(1))
    let dead = builder.birth(small, size: 64)
    builder.mark()
    let stack = builder.stack(2)
    builder.move(grown, to: 0x9000, size: 1000, type: large, stack: stack)
    builder.move(dead, to: 0x8000, size: 1024, type: large)
    builder.death(dead)
    let analysis = try builder.analysis()
    #expect(
      try lines(analysis.answer(StatisticsQuestion(lifespan: .all))) == ["malloc 1 KiB living 1/1000 destroyed 1/1024"])
    let only = TypeFilter(include: ["malloc 1 KiB"])
    let generations = try analysis.answer(GenerationsQuestion(types: only))
    #expect(generations.closed[0].growthBytes == ByteCount(1000) && generations.closed[0].persistentCount == 1)
    let left = try analysis.answer(GenerationsQuestion(types: TypeFilter(include: ["malloc 64 B"])))
    #expect(left.closed[0].rows.isEmpty)
    let objects = try analysis.answer(ObjectsQuestion(types: only, stack: stack))
    #expect(objects.count == 1 && objects.bytes == ByteCount(1000))
    #expect(try analysis.answer(ObjectsQuestion(types: only, lifespan: .all)).count == 2)
    let end = Moment.time(TraceTime(rawValue: 1 << 40))
    let difference = try analysis.answer(DifferenceQuestion(from: .time(.start), to: end, types: only))
    #expect(difference.total.new.bytes == ByteCount(1000))
  }

  @Test func discardedObjectsAreAdded() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    let never = builder.type("App.Never")
    builder.birth(node, skipping: 10)
    builder.death(builder.birth(node, skipping: 3))
    builder.rows(
      .totals([
        TotalRecord(type: node, generation: Generation(0), births: 8, bytes: 256),
        TotalRecord(type: node, generation: Generation(1), births: 2, bytes: 64),
        TotalRecord(type: never, generation: Generation(0), births: 3, bytes: 96),
      ]))
    let statistics = try builder.analysis().answer(StatisticsQuestion(lifespan: .all))
    #expect(lines(statistics) == ["App.Node living 1/32 destroyed 11/352", "App.Never living 0/0 destroyed 3/96"])
    #expect(statistics.total.totalCount == 15)
  }

  @Test func temporaryIsFreedBeforeTheNextAllocationOfItsThread() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    let other = builder.type("App.Other")
    let one = builder.birth(node)
    builder.thread = ThreadID(2)
    builder.birth(other)
    // Another thread's birth lies between, and another thread frees it: still before its own thread's next.
    builder.death(one)
    builder.thread = .main
    let two = builder.birth(node)
    builder.birth(other)
    builder.death(two)
    let three = builder.birth(node)
    builder.deinitEnded(three)
    builder.birth(other)
    builder.free(three)
    let statistics = try builder.analysis().answer(
      StatisticsQuestion(types: TypeFilter(include: ["App.Node"]), countsTemporary: true))
    #expect(line(statistics.total) == "living 0/0 destroyed 3/96 temporary 2")
  }

  @Test func aWindowSeesOnlyWhatIsBornAndEndsInIt() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    let early = builder.birth(node)  // 0
    builder.mark("one")  // 1,000
    let inside = builder.birth(node)  // 1,000
    let later = builder.birth(node)  // 2,000
    builder.death(early)  // 3,000
    builder.death(inside)  // 4,000
    builder.mark("two")  // 5,000
    builder.death(later)  // 5,000
    builder.birth(node)  // 6,000
    let analysis = try builder.analysis()
    func ask(_ from: Moment?, _ to: Moment?) throws -> String {
      line(
        try analysis.answer(StatisticsQuestion(lifespan: .all, window: TimeWindow(from: from, to: to))).total)
    }
    #expect(try ask(.mark("one"), .mark("two")) == "living 1/32 destroyed 1/32")
    #expect(try ask(nil, .mark("one")) == "living 1/32 destroyed 0/0")
    #expect(try ask(.mark("two"), nil) == "living 1/32 destroyed 0/0")
    #expect(try ask(.time(TraceTime(1500)), .time(TraceTime(5500))) == "living 0/0 destroyed 1/32")
    #expect(try ask(nil, nil) == "living 1/32 destroyed 3/96")
  }

  @Test func aDeathThatTurnedUpLateIsBeforeTheMarkByItsStamp() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    let late = builder.birth(node)
    let after = builder.birth(node)
    builder.mark("m")
    builder.death(after)
    builder.death(late, at: Ticks(1500))
    let analysis = try builder.analysis()
    let window = TimeWindow(to: .mark("m"))
    #expect(
      line(try analysis.answer(StatisticsQuestion(lifespan: .all, window: window)).total)
        == "living 1/32 destroyed 1/32")
  }

  @Test func emptyAndUnknownQuestionsSaySo() throws {
    var builder = TraceBuilder()
    builder.birth(builder.type("App.SessionStore"))
    builder.mark("logged in")
    let analysis = try builder.analysis()
    func problem(_ question: StatisticsQuestion) -> String? {
      do {
        _ = try analysis.answer(question)
        return nil
      } catch { return error.description }
    }
    #expect(
      problem(StatisticsQuestion(types: TypeFilter(include: ["App.SesionStor"])))
        == "no type matches 'App.SesionStor' in this recording; nearest: App.SessionStore")
    #expect(
      problem(StatisticsQuestion(types: TypeFilter(include: ["SessionStore"])))
        == "no type matches 'SessionStore' in this recording; nearest: App.SessionStore")
    #expect(
      problem(StatisticsQuestion(window: TimeWindow(from: .mark("loged in"))))
        == "no mark 'loged in' in this recording; nearest: logged in")
    #expect(
      problem(StatisticsQuestion(window: TimeWindow(from: .time(TraceTime(2)), to: .time(TraceTime(1)))))
        == "2 ns is not before 1 ns; give an earlier and a later moment")
    #expect(problem(StatisticsQuestion()) == nil)
  }

  @Test func typesAreChosenByPatternKindAndModule() throws {
    var builder = TraceBuilder()
    for (name, kind) in [
      ("App.Node", ObjectKind.classInstance), ("App.Cache<Swift.Int>", .classInstance), ("Swift.Int", .box),
      ("Lib.Node", .classInstance),
    ] { builder.birth(builder.type(name, kind: kind)) }
    let analysis = try builder.analysis()
    func names(_ filter: TypeFilter) throws -> [String] {
      try analysis.answer(StatisticsQuestion(types: filter)).rows.map(\.type.name)
    }
    #expect(try names(TypeFilter(include: ["*Node"])) == ["App.Node", "Lib.Node"])
    #expect(try names(TypeFilter(include: ["App.*"], exclude: ["*<*>"])) == ["App.Node"])
    #expect(try names(TypeFilter(kinds: [.box])) == ["Swift.Int"])
    #expect(try names(TypeFilter(modules: ["App"])) == ["App.Cache<Swift.Int>", "App.Node"])
    #expect(try names(TypeFilter(exclude: ["*"])) == [])
  }

  @Test func answersAreTheSameHoweverTheFileIsChunkedAndCompressed() throws {
    func answer(_ codec: ChunkCodec, _ chunk: Int) throws -> Statistics {
      var builder = TraceBuilder(codec: codec)
      builder.chunkEvents = chunk
      let types = (0..<5).map { builder.type("App.T\($0)", size: UInt64(32 + 16 * $0)) }
      var living: [SerialNumber] = []
      for number in 0..<9000 {
        living.append(builder.birth(types[number % 5]))
        if number % 2 == 0 { builder.death(living.remove(at: number * 7919 % living.count)) }
      }
      return try builder.analysis().answer(StatisticsQuestion(lifespan: .all, countsTemporary: true))
    }
    let whole = try answer(.none, 100_000)
    #expect(whole.total.totalCount == 9000)
    #expect(whole.total.transientCount == 4500)
    #expect(try answer(.zstd, 1000) == whole)
    #expect(try answer(.none, 1) == whole)
  }
}
