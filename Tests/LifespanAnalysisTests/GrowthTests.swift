// What lived at each mark, which marks are rounds, and the suspects of one round.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct GrowthTests {
  private func lines(_ trends: GrowthTrends) -> [String] {
    trends.rows.map { row in
      "\(row.type.name) \(row.counts) \(row.bytes) left \(row.left) \(row.verdict?.rawValue ?? "-")"
    }
  }

  /// Rounds that are each closed by a mark of that name; each makes the objects and ends those that its number is given for.
  private func builder(_ names: [String], _ round: (inout TraceBuilder, Int) -> Void) -> TraceBuilder {
    var builder = TraceBuilder()
    for (number, name) in names.enumerated() {
      round(&builder, number)
      builder.mark(name)
    }
    return builder
  }

  private static let five = ["launched", "one", "two", "three", "four"]

  @Test func levelsAreWhatLivedAtEachMark() throws {
    var trace = TraceBuilder()
    let (page, thumb) = (trace.type("App.Page", size: 100), trace.type("App.Thumb", size: 10))
    var thumbs: [SerialNumber] = []
    for name in Self.five {
      for _ in 0..<2 { trace.birth(page) }
      thumbs.forEach { trace.death($0) }
      thumbs = (0..<3).map { _ in trace.birth(thumb) }
      trace.death(trace.birth(thumb))
      trace.mark(name)
    }
    trace.birth(page)
    let trends = try trace.analysis().answer(GrowthQuestion())
    #expect(
      lines(trends) == [
        "App.Page [2, 4, 6, 8, 10] [200, 400, 600, 800, 1000] left [2, 2, 2, 2] linear",
        "App.Thumb [3, 3, 3, 3, 3] [30, 30, 30, 30, 30] left [0, 0, 0, 3] plateau",
      ])
    #expect(trends.warmUpMarks == ["launched"] && trends.warmUp == .first && trends.firstMark == 0)
    #expect(trends.rounds.map(\.name) == ["one", "two", "three", "four"])
    #expect(trends.total.counts == [5, 7, 9, 11, 13] && trends.total.verdict == .linear)
    #expect(trends.rows[0].byCount?.perRound == 2_000 && trends.rows[0].byBytes?.perRound == 200_000)
  }

  @Test func aDeathAfterItsMarkCountsForTheNextOne() throws {
    var trace = TraceBuilder()
    let node = trace.type("App.Node")
    var late: SerialNumber?
    for name in Self.five {
      if let late { trace.death(late) }
      late = trace.birth(node)
      trace.mark(name)
    }
    if let late { trace.death(late) }
    #expect(
      try lines(trace.analysis().answer(GrowthQuestion())) == [
        "App.Node [1, 1, 1, 1, 1] [32, 32, 32, 32, 32] left [0, 0, 0, 0] plateau"
      ])
  }

  @Test func countsFollowTheDeinitAndBytesTheMemory() throws {
    var trace = TraceBuilder()
    let node = trace.type("App.Node", size: 48)
    for name in Self.five {
      trace.deinitEnded(trace.birth(node))
      trace.mark(name)
    }
    let row = try #require(trace.analysis().answer(GrowthQuestion()).rows.first)
    #expect(row.counts == [0, 0, 0, 0, 0] && row.bytes == [48, 96, 144, 192, 240] && row.left == [0, 0, 0, 0])
    // One of the two is enough.
    #expect(row.byCount?.verdict == .plateau && row.byBytes?.verdict == .linear && row.verdict == .linear)
  }

  @Test func aBlockThatIsResizedGoesOverToAnotherRow() throws {
    var trace = TraceBuilder()
    let small = trace.type("malloc 64 B", kind: .malloc)
    let large = trace.type("malloc 128 B", kind: .malloc)
    let block = trace.birth(small, size: 64)
    trace.mark("launched")
    for (round, name) in Self.five.dropFirst().enumerated() {
      if round == 1 { trace.move(block, to: 0x7000_0000, size: 128, type: large) }
      trace.mark(name)
    }
    #expect(
      try lines(trace.analysis().answer(GrowthQuestion())).sorted() == [
        "malloc 128 B [0, 0, 1, 1, 1] [0, 0, 128, 128, 128] left [0, 0, 0, 0] plateau",
        "malloc 64 B [1, 1, 0, 0, 0] [64, 64, 0, 0, 0] left [0, 0, 0, 0] plateau",
      ])
  }

  private func rounds(_ names: [String], _ question: GrowthQuestion = GrowthQuestion()) throws -> String {
    let node = TypeID(1)
    var first = true
    let trace = builder(names) { builder, _ in
      if first { first = builder.type("App.Node") != node }
      builder.birth(node)
    }
    let trends = try trace.analysis().answer(question)
    return "\(trends.warmUp.rawValue) \(trends.warmUpMarks) \(trends.rounds.map(\.name)) "
      + "\(trends.rows.first?.counts ?? []) \(trends.withheld ?? "")"
  }

  @Test func marksAtTheBeginningAreAWarmUp() throws {
    #expect(try rounds(["a", "b", "c", "d", "e"]) == #"first ["a"] ["b", "c", "d", "e"] [1, 2, 3, 4, 5] "#)
    // Four marks are four rounds only with the first: it begins with the recording.
    #expect(try rounds(["a", "b", "c", "d"]) == #"none [] ["a", "b", "c", "d"] [0, 1, 2, 3, 4] "#)
    #expect(
      try rounds(["warm-up", "Warming", "c", "d", "e", "f"])
        == #"named ["warm-up", "Warming"] ["c", "d", "e", "f"] [2, 3, 4, 5, 6] "#)
    let names = ["a", "b", "c", "d", "e", "f", "g"]
    #expect(
      try rounds(names, GrowthQuestion(warmUp: 2))
        == #"asked ["a", "b"] ["c", "d", "e", "f", "g"] [2, 3, 4, 5, 6, 7] "#)
    #expect(
      try rounds(names, GrowthQuestion(from: "b", to: "f"))
        == #"asked ["a", "b"] ["c", "d", "e", "f"] [2, 3, 4, 5, 6] "#)
  }

  @Test func tooFewRoundsHaveNoVerdict() throws {
    #expect(
      try rounds(["a", "b", "c"])
        == #"none [] ["a", "b", "c"] [0, 1, 2, 3] not enough rounds: 3, 4 are needed"#)
    #expect(
      try rounds(["warm-up", "b", "c", "d"])
        == #"named ["warm-up"] ["b", "c", "d"] [1, 2, 3, 4] not enough rounds: 3 after the warm-up, 4 are needed"#)
    #expect(
      try rounds(["a", "b"], GrowthQuestion(warmUp: 7))
        == #"asked ["a", "b"] [] [2] not enough rounds: none after the warm-up, 4 are needed"#)
    #expect(try rounds([]).hasSuffix("no mark was set, and 4 rounds are needed: mark the end of each (lifespan mark)"))
    var trace = builder(["a", "b", "c"]) { builder, _ in builder.birth(builder.type("App.Node")) }
    trace.mark("d")
    #expect(try trace.analysis().answer(GrowthQuestion()).withheld == nil)
  }

  @Test func ofSeveralMarksWithOneNameTheRoundsAreAll() throws {
    let names = Array(repeating: "round", count: 6)
    #expect(try rounds(names).hasPrefix(#"first ["round"] ["round", "round", "round", "round", "round"]"#))
    #expect(throws: Analysis.Failure.self) { try rounds(names, GrowthQuestion(from: "rund")) }
    #expect(throws: Analysis.Failure.self) { try rounds(["a", "b"], GrowthQuestion(from: "b", to: "a")) }
  }

  @Test func marksThatWereSetAfterwardsAreRoundsToo() throws {
    var trace = TraceBuilder()
    let (node, page) = (trace.type("App.Node"), trace.type("App.Page"))
    var pages: [SerialNumber] = []
    for round in 0..<6 {
      trace.now = Ticks(Int64(round) * 10_000)
      trace.birth(node)
      pages.forEach { trace.death($0) }
      pages = [trace.birth(page)]
      if round == 3 { trace.mark("real") }
    }
    let later = [9_000, 19_000, 29_000, 49_000].map { LaterMark(time: TraceTime($0)) }
    let analysis = Analysis(try trace.trace(), laterMarks: later)
    #expect(
      lines(try analysis.answer(GrowthQuestion())) == [
        "App.Node [1, 2, 3, 4, 5] [32, 64, 96, 128, 160] left [1, 1, 1, 1] linear",
        "App.Page [1, 1, 1, 1, 1] [32, 32, 32, 32, 32] left [0, 0, 0, 0] plateau",
      ])
    #expect(try analysis.answer(GrowthQuestion()).rounds.map(\.name) == ["B", "C", "real", "E"])
  }

  @Test func whatWasDiscardedLeavesItsMarksOut() throws {
    var trace = builder(["a", "b", "c", "d", "e", "f", "g"]) { builder, round in
      let node = round == 0 ? builder.type("App.Node") : TypeID(1)
      builder.birth(node)
    }
    // Of what died before the third mark nothing is left: nobody knows how much lived at the first two.
    trace.info += [
      InfoRecord(key: "discarded.by", value: "--keep living"), InfoRecord(key: "discarded.before", value: "2500"),
      InfoRecord(key: "discarded.objects", value: "5"), InfoRecord(key: "discarded.events", value: "10"),
    ]
    let trends = try trace.analysis().answer(GrowthQuestion())
    #expect(trends.warmUp == .discarded && trends.warmUpMarks == ["a", "b", "c"])
    #expect(trends.rows.first?.counts == [3, 4, 5, 6, 7])
  }

  @Test func theRateOfAnHourFollowsTheRoundsTime() throws {
    var trace = TraceBuilder()
    trace.step = 1_000_000_000
    let node = trace.type("App.Node")
    for name in Self.five {
      trace.birth(node)
      trace.mark(name)
    }
    let trends = try trace.analysis().answer(GrowthQuestion())
    #expect(trends.perHour(1_000) == 3_600 && trends.perHour(-500) == -1_800)
    var quick = TraceBuilder()
    for name in Self.five { quick.mark(name) }
    let none = try quick.analysis().answer(GrowthQuestion())
    #expect(none.perHour(1_000) == nil)
  }

  // One round.

  private func lines(_ round: RoundTrip) -> [String] {
    round.rows.map { row in
      let sites = row.sites.map { "\($0.stack):\($0.count)/\($0.bytes) \($0.living) \($0.examples)" }
      return "\(row.type.name) before \(row.before) inside \(row.inside)/\(row.insideBytes) after \(row.after) "
        + "living \(row.living) " + sites.joined(separator: ", ")
    }
  }

  @Test func suspectsAreBornInsideAndLiveAtTheEndOfTheRound() throws {
    var trace = TraceBuilder()
    let (node, page) = (trace.type("App.Node", size: 32), trace.type("App.Page", size: 100))
    let (one, other) = (trace.stack(0x10), trace.stack(0x20))
    let old = trace.birth(node, stack: one)  // 1
    let gone = trace.birth(node)  // 2
    trace.death(trace.birth(node))  // 3
    trace.mark("begin")
    trace.death(gone)
    trace.birth(node, stack: one)  // 4
    let late = trace.birth(node, stack: one)  // 5
    trace.birth(node, stack: other)  // 6
    let deinited = trace.birth(page)  // 7
    trace.death(trace.birth(page))  // 8
    trace.deinitEnded(deinited)
    trace.mark("end")
    trace.death(late)
    trace.death(old)
    trace.birth(node)
    let analysis = try trace.analysis()
    let question = RoundTripQuestion(from: .moment(.mark("begin")), to: .moment(.mark("end")))
    let round = try analysis.answer(question)
    #expect(
      lines(round) == [
        "App.Node before 2 inside 3/96 after 4 living 2 \(one):2/64 1 [4], \(other):1/32 1 [6]"
      ])
    #expect(round.total.before == 2 && round.total.inside == 3 && round.total.after == 4 && round.suspects == 3)
    #expect(round.total.beforeBytes == ByteCount(64))
    // By the numbers of the marks, and from the start.
    #expect(try analysis.answer(RoundTripQuestion(from: .mark(0), to: .mark(1))) == round)
    let start = try analysis.answer(RoundTripQuestion(from: .start, to: .mark(0)))
    #expect(lines(start) == ["App.Node before 0 inside 2/64 after 2 living 0 0:1/32 0 [2], \(one):1/32 0 [1]"])
    let only = try analysis.answer(RoundTripQuestion(from: .mark(0), to: .mark(1), only: []))
    #expect(only.rows.isEmpty && only.total.inside == 0)
  }

  @Test func examplesAreTheNewestThatLive() throws {
    var trace = TraceBuilder()
    let node = trace.type("App.Node")
    trace.mark("begin")
    let all = (0..<30).map { _ in trace.birth(node) }
    trace.mark("end")
    for serial in all.suffix(5) { trace.death(serial) }
    let round = try trace.analysis().answer(RoundTripQuestion(from: .mark(0), to: .mark(1)))
    #expect(round.rows.first?.sites.first?.examples.map(\.rawValue) == Array((18...25).reversed()))
    #expect(round.rows.first?.living == 25)
    for serial in all.prefix(25) { trace.death(serial) }
    let late = try trace.analysis().answer(RoundTripQuestion(from: .mark(0), to: .mark(1)))
    #expect(late.rows.first?.sites.first?.examples.count == 8 && late.rows.first?.living == 0)
  }

  @Test func aRoundWithItsEndsTheWrongWayRoundIsRefused() throws {
    var trace = TraceBuilder()
    trace.mark("a")
    trace.mark("b")
    let analysis = try trace.analysis()
    #expect(throws: Analysis.Failure.self) {
      try analysis.answer(RoundTripQuestion(from: .moment(.mark("b")), to: .moment(.mark("a"))))
    }
    #expect(throws: Analysis.Failure.self) {
      try analysis.answer(RoundTripQuestion(from: .moment(.mark("a")), to: .moment(.mark("c"))))
    }
  }

  @Test func tokensAndThreadsAreInNoSumOfTheHeap() throws {
    var trace = TraceBuilder()
    let (node, token) = (trace.type("App.Node"), trace.type("Upload", kind: .token, size: 0))
    let thread = trace.type("thread", kind: .thread, size: 0)
    trace.mark("begin")
    trace.birth(node)
    trace.birth(token, size: 0)
    trace.birth(thread, size: 0)
    trace.mark("end")
    let round = try trace.analysis().answer(RoundTripQuestion(from: .mark(0), to: .mark(1)))
    #expect(round.rows.count == 3 && round.total.inside == 1 && round.suspects == 2)
    #expect(round.apart[.thread]?.inside == 1)
  }
}
