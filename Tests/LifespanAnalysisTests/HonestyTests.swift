// What a report may not say: numbers that disagree, names that mean two things, a limit that looks at nothing.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct HonestyTests {
  @Test func countsOfKeptObjectsAgreeInEveryReport() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 40)
    let early = builder.birth(node)
    builder.birth(node)
    builder.deinitEnded(early)
    builder.mark("one")
    let late = builder.birth(node)
    let gone = builder.birth(node)
    builder.mark("two")
    builder.deinitEnded(late)
    builder.deinitEnded(gone)
    builder.free(gone)
    let analysis = try builder.analysis()
    for (generation, counts) in [("one", [1, 1]), ("two", [0, 1])] {
      let growth = try #require(
        try analysis.answer(GenerationsQuestion()).closed.first { $0.name == generation })
      let list = try analysis.answer(ObjectsQuestion(generation: generation))
      #expect([growth.persistentCount, growth.keptCount] == counts)
      #expect([list.count, list.keptCount] == counts)
      #expect(growth.growthBytes == list.bytes + list.keptBytes)
      #expect(growth.keptBytes == list.keptBytes)
    }
    let atMark = try analysis.answer(GenerationsQuestion(atMark: true)).closed
    #expect(atMark.map(\.persistentCount) == [1, 2])
    #expect(atMark.map(\.keptCount) == [1, 0])
    #expect(atMark.map(\.keptBytes) == [ByteCount(40), .zero])
    let statistics = try analysis.answer(StatisticsQuestion()).total
    #expect([statistics.persistentCount, statistics.keptCount] == [1, 2])
  }

  @Test func agesOfARunningRecordingCountToNow() throws {
    var builder = TraceBuilder()
    builder.end = nil
    let node = builder.type("App.Node")
    let object = builder.birth(node)
    builder.death(builder.birth(node))
    let analysis = Analysis(try builder.trace(), asOf: TraceTime(9_000_000))
    #expect(try analysis.answer(ObjectsQuestion()).objects.map(\.age) == [9_000_000 as Int64])
    #expect(try analysis.history(of: .serial(object)).object.age == 9_000_000)
    #expect(try analysis.information().end == TraceTime(9_000_000))
    #expect(try Analysis(try builder.trace()).answer(ObjectsQuestion()).objects.map(\.age) == [2000 as Int64])
  }

  @Test func holesAreCountedWithoutAnEnd() throws {
    var builder = TraceBuilder()
    builder.end = nil
    let node = builder.type("App.Node")
    builder.endNotSeen(builder.birth(node))
    builder.unknownDeath(address: 0x7000)
    builder.unknownDeath(address: 0x8000)
    let information = try builder.analysis().information()
    #expect(information.endsNotSeen == 1)
    #expect(information.unknownDeaths == 2)
    #expect(information.capture == .complete)
    #expect(information.effectiveCapture == .partial)
  }

  @Test func modulesAndKindsThatAreNowhereAreRefused() throws {
    var builder = TraceBuilder()
    builder.birth(builder.type("App.Node"))
    builder.birth(builder.type("Swift._ContiguousArrayStorage<Swift.Int>", kind: .array))
    let analysis = try builder.analysis()
    func refused(_ filter: TypeFilter) -> String? {
      do {
        _ = try analysis.answer(StatisticsQuestion(types: filter))
        return nil
      } catch {
        return error.description
      }
    }
    #expect(refused(TypeFilter(modules: ["Ap"])) == "no type of module 'Ap' in this recording; nearest: App")
    #expect(
      refused(TypeFilter(modules: ["App", "Swft"])) == "no type of module 'Swft' in this recording; nearest: Swift")
    #expect(refused(TypeFilter(kinds: [.set])) == "nothing of kind set in this recording; it has: class, array")
    #expect(refused(TypeFilter(kinds: [.classInstance, .set])) == nil)
    #expect(
      refused(TypeFilter(kinds: [.classInstance, .malloc]))
        == "kind malloc was not recorded in this trace; it has: class, array")
  }

  @Test func regionsAreInNoSumOfTheHeapAndKnownWhereNoneIs() throws {
    var builder = TraceBuilder()
    builder.info.append(InfoRecord(key: "vm", value: "all"))
    let node = builder.type("App.Node")
    builder.birth(node, size: 8)
    let nothing = try builder.analysis().answer(StatisticsQuestion(types: TypeFilter(kinds: [.vm])))
    #expect(nothing.rows.isEmpty)
    // A file's name is no type's: it stays as it is.
    let region = builder.type("VM: mapped file a (b in _c)", kind: .vm)
    builder.birth(region, size: 8192)
    builder.mark("A")
    builder.birth(region, size: 4096)
    let analysis = try builder.analysis()
    let statistics = try analysis.answer(StatisticsQuestion())
    #expect(statistics.total.persistentBytes == ByteCount(8))
    #expect(statistics.rows.map(\.type.name).contains("VM: mapped file a (b in _c)"))
    let generations = try analysis.answer(GenerationsQuestion())
    #expect(generations.closed[0].growthBytes == ByteCount(8))
    #expect(generations.closed[0].apart[.vm]?.persistentBytes == ByteCount(8192))
    #expect([generations.closed[0].survivors, generations.open.survivors] == [2, 1])
  }

  @Test func tokensAreInNoSumOfTheHeap() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 32)
    let upload = builder.type("Upload", kind: .token, size: 0)
    builder.birth(node)
    builder.mark("one")
    builder.birth(upload, size: 1_000)
    builder.birth(node)
    builder.mark("two")
    let analysis = try builder.analysis()
    let all = try analysis.answer(StatisticsQuestion())
    #expect(line(all.total) == "living 2/64 destroyed 0/0")
    #expect(all.totalsByKind.map { "\($0.kind) \($0.tally.persistentCount)" } == ["class 2", "token 1"])
    let tokens = TypeFilter(kinds: [.token])
    #expect(line(try analysis.answer(StatisticsQuestion(types: tokens)).total) == "living 1/1000 destroyed 0/0")
    let change = try analysis.answer(DifferenceQuestion(from: .mark("one"), to: .mark("two")))
    #expect([change.total.new.count, change.apart[.token]?.new.count] == [1, 1])
    let growth = try analysis.answer(GenerationsQuestion()).closed[1]
    #expect([growth.persistentCount, growth.apart[.token]?.persistentCount, growth.survivors] == [1, 1, 2])
    #expect(try analysis.answer(GenerationsQuestion(types: tokens)).closed[1].survivors == 1)
  }

  @Test func anUnnamedMarkTakesNoNameThatAnotherHas() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    for name in ["B", "", "", "A", ""] {
      builder.birth(node)
      builder.mark(name)
    }
    builder.birth(node)
    let analysis = try builder.analysis()
    #expect(try analysis.information().marks.map(\.name) == ["B", "C", "D", "A", "E"])
    let open = try analysis.answer(GenerationsQuestion()).open.name
    #expect(open == "F")
    #expect(try analysis.answer(ObjectsQuestion(generation: open)).count == 1)
  }

  @Test func ofTwoMarksWithOneNameTheLastBeforeTheOtherIsMeant() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    for (name, births) in [("A", 1), ("B", 2), ("A", 4), ("C", 8)] {
      for _ in 0..<births { builder.birth(node) }
      builder.mark(name)
    }
    let analysis = try builder.analysis()
    func new(_ from: String, _ to: String) throws -> Int {
      try analysis.answer(DifferenceQuestion(from: .mark(from), to: .mark(to))).total.new.count
    }
    #expect(try new("A", "B") == 2)
    #expect(try new("A", "C") == 8)
    #expect(try new("B", "A") == 4)
    #expect(try new("A", "A") == 6)
    let window = TimeWindow(from: .mark("A"), to: .mark("B"))
    #expect(try analysis.answer(StatisticsQuestion(window: window)).total.persistentCount == 2)
    let marks = try analysis.information().marks
    #expect(try analysis.ambiguousMarks(in: window) == [AmbiguousMark(name: "A", count: 2, time: marks[0].time)])
    #expect(
      try analysis.ambiguousMarks(in: .whole, generation: "A")
        == [AmbiguousMark(name: "A", count: 2, time: marks[2].time)])
    #expect(try analysis.ambiguousMarks(in: TimeWindow(from: .mark("B")), generation: "C") == [])
    #expect(throws: Analysis.Failure.self) { try new("C", "B") }
  }

  @Test func theRecordedTypesAreReadOutOfTheOptions() {
    var information = TraceInformation()
    #expect(information.recordedTypes == nil)
    information.options = "--force --record 'Leak Set.*' -o 'it'\\''s --record.lifespan' --ignore Leak.Cache --stats"
    #expect(information.recordedTypes == "--record 'Leak Set.*' --ignore Leak.Cache")
    information.info["recording"] = "tracked"
    information.options = ""
    #expect(information.recordedTypes == "tracked types and tokens")
  }

  @Test func referenceCountsAreRecordedForATypeOrForAll() {
    let plain = TypeIdentity(id: TypeID(1), name: "A.B", rawName: "A.B", kind: .classInstance, module: "A")
    var tracked = plain
    tracked.isTracked = true
    var token = plain
    token.kind = .token
    var information = TraceInformation()
    #expect([plain, tracked].map(information.recordsReferenceCounts) == [false, true])
    information.info["refcounts"] = "all"
    #expect([plain, tracked, token].map(information.recordsReferenceCounts) == [true, true, false])
  }
}
