// What every report says first, and names.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct InformationTests {
  @Test func aRecordingSaysWhatItIs() throws {
    var header = TraceHeader()
    header.pid = 7
    header.door = 2
    var builder = TraceBuilder(header)
    builder.info = [
      InfoRecord(key: "program", value: "/tmp/App"), InfoRecord(key: "capture", value: "partial"),
      InfoRecord(key: "capture.reason", value: "no detours"),
      InfoRecord(key: "started_at", value: "2026-01-01T00:00:00Z"),
      InfoRecord(key: "history.dropped", value: "12"),
    ]
    builder.end = [
      EndRecord(key: "clean", value: 1), EndRecord(key: "exit_status", value: 256),
      EndRecord(key: "stacks_checked", value: 10), EndRecord(key: "stacks_equal", value: 8),
      EndRecord(key: "stacks_guessed", value: 1),
      EndRecord(key: "waited_ns", value: 5), EndRecord(key: "lost", value: 8),
    ]
    let node = builder.type("App.Node")
    builder.birth(node)
    builder.mark()
    builder.gap(births: 1, deaths: 2, others: 3)
    builder.rows(.recording([RecordingRecord(time: Ticks(3), goesOn: false)]))
    builder.death(builder.birth(node))
    let information = try builder.analysis().information()
    #expect(information.program == "/tmp/App")
    #expect(information.pid == 7)
    #expect(information.door == .linked)
    #expect(information.capture == .partial)
    #expect(information.captureReason == "no detours")
    #expect(information.startedAt == "2026-01-01T00:00:00Z")
    #expect(information.eventsRecorded == 3)
    #expect(information.birthsRecorded == 2)
    #expect(information.lost == TraceInformation.Lost(births: 1, deaths: 2, others: 5))
    #expect(
      information.gaps == [
        TraceInformation.Gap(
          thread: .main, from: TraceTime(1000), to: TraceTime(2000),
          lost: TraceInformation.Lost(births: 1, deaths: 2, others: 3), reason: .ringFull)
      ])
    #expect(
      information.marks == [TraceInformation.Mark(generation: Generation(0), name: "A", time: TraceTime(1000))])
    #expect(information.end == TraceTime(3000))
    #expect(information.exitStatus == 256)
    #expect(information.endedByItself == true)
    #expect(information.stacksChecked == 10 && information.stacksEqual == 8 && information.stacksGuessed == 1)
    #expect(information.waitedNanoseconds == 5)
    #expect(information.wasPaused)
    #expect(information.olderEventsDropped == 12)
    #expect(!information.isCut)
  }

  @Test func aCutRecordingEndsWithItsLastEvent() throws {
    var builder = TraceBuilder()
    builder.end = nil
    let node = builder.type("App.Node")
    builder.birth(node)
    builder.birth(node)
    builder.birth(node, at: Ticks(-500))
    let information = try builder.analysis().information()
    #expect(information.end == TraceTime(1000))
    #expect(information.ending.reason == .unfinished)
    #expect(information.isCut)
    #expect(information.endedByItself == nil)
    #expect(information.counters.isEmpty)
  }

  @Test func everyCutOfARecordingCanBeAsked() throws {
    var builder = TraceBuilder(codec: .zstd)
    builder.chunkEvents = 4
    let node = builder.type("App.Node")
    for number in 0..<20 {
      let serial = builder.birth(node)
      if number % 2 == 0 { builder.death(serial) }
      if number % 5 == 0 { builder.mark() }
    }
    let bytes = builder.bytes()
    for length in 64..<bytes.count {
      let analysis = Analysis(try Trace(TraceMemory(Array(bytes.prefix(length)))))
      let (statistics, generations, list) = try analysis.answer(
        StatisticsQuestion(lifespan: .all), GenerationsQuestion(), ObjectsQuestion())
      let information = try analysis.information()
      #expect(information.isCut)
      #expect(statistics.total.totalCount == Int(information.birthsRecorded))
      #expect(statistics.total.persistentCount == list.count)
      let growth = generations.closed.reduce(generations.open.persistentCount) { $0 + $1.persistentCount }
      #expect(growth == list.count)
    }
  }

  @Test func privateAndLocalTypesAreNamedPlainly() {
    let names = [
      "App.Node": "App.Node",
      "App.(unknown context at $7f00aa).Node": "App.Node",
      "App.Outer.(unknown context at $1).(unknown context at $2f).Node": "App.Outer.Node",
      "App.(Node in _AB12CD)": "App.Node",
      "App.(Node in $7f00aa)": "App.Node",
      "App.(Outer in _AB12CD).Node": "App.Outer.Node",
      "Node #1 in App.run() -> ()": "App.Node",
      "Swift._ContiguousArrayStorage<App.(unknown context at $1).Node>": "Swift._ContiguousArrayStorage<App.Node>",
      "Swift.Dictionary<Swift.Int, Node #2 in App.run(a: (Swift.Int) -> ()) -> Swift.Int>":
        "Swift.Dictionary<Swift.Int, App.Node>",
      "Swift.Pair<Node #1 in App.f<A, B>(A) -> B, Swift.Int>": "Swift.Pair<App.Node, Swift.Int>",
      "(Swift.Int, Swift.String)": "(Swift.Int, Swift.String)",
      "(unknown context at $": "(unknown context at $",
      "Node #": "Node #",
      "Node # in ": "Node # in ",
      "(a in _": "(a in _",
    ]
    for (raw, plain) in names { #expect(TypeName.plain(raw) == plain) }
    #expect(TypeName.module("App.Node<Lib.A>") == "App")
    #expect(TypeName.module("Node") == "")
    #expect(TypeName.module("(A.B, C)") == "")
  }

  @Test func twoPrivateTypesOfOneNameStayTwoRows() throws {
    var builder = TraceBuilder()
    builder.birth(builder.type("App.(unknown context at $1).Node"))
    builder.birth(builder.type("App.(unknown context at $2).Node"))
    builder.birth(builder.type("App.(unknown context at $2).Node"))
    let rows = try builder.analysis().answer(StatisticsQuestion()).rows
    #expect(rows.map(\.type.name) == ["App.Node", "App.Node"])
    #expect(rows.map(\.tally.persistentCount) == [2, 1])
    #expect(rows.map(\.type.module) == ["App", "App"])
  }

  @Test func closuresAreRowsByTheFunctionThatMakesThem() throws {
    var builder = TraceBuilder()
    for caller: UInt64 in [0x1010, 0x1018, 0x2020, 0x1010] {
      builder.birth(builder.type("", kind: .closure, caller: caller))
    }
    let plain = try builder.analysis().answer(StatisticsQuestion()).rows
    #expect(plain.map(\.type.caller) == [0x1010, 0x1018, 0x2020].map { ReturnAddress($0) })
    #expect(plain.map(\.tally.persistentCount) == [2, 1, 1])
    let naming = RowNaming(function: { $0.rawValue < 0x2000 ? FunctionName(name: "App.run()", module: "App") : nil })
    let named = Analysis(try builder.trace(), naming: naming)
    let rows = try named.answer(StatisticsQuestion()).rows
    #expect(rows.map(\.type.name) == ["closure in App.run()", ""])
    #expect(rows.map(\.tally.persistentCount) == [3, 1])
    #expect(rows.map(\.type.module) == ["App", ""])
    let ofModule = try named.answer(StatisticsQuestion(types: TypeFilter(modules: ["App"]))).rows
    #expect(ofModule.map(\.type.name) == ["closure in App.run()"])
  }

  @Test func onlyTheStarIsSpecialInPatterns() {
    #expect(Glob.matches("App.*", "App.Node"))
    #expect(Glob.matches("*", ""))
    #expect(Glob.matches("*a*b", "xaxbxb"))
    #expect(!Glob.matches("*a*b", "xaxbx"))
    #expect(Glob.matches("A<[B?]>", "A<[B?]>"))
    #expect(!Glob.matches("A?", "AB"))
    #expect(!Glob.matches("", "A"))
    #expect(!Glob.matches(String(repeating: "*a", count: 40) + "b", String(repeating: "a", count: 400)))
  }

  @Test func typesThatACutFileDoesNotDescribeGetRowsOfTheirOwn() throws {
    var builder = TraceBuilder()
    builder.birth(TypeID(9), size: 16)
    #expect(try lines(builder.analysis().answer(StatisticsQuestion())) == ["(type 9) living 1/16 destroyed 0/0"])
  }
}
