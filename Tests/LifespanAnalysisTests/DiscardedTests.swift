// Traces that were made anew while they were recorded: what died is counted, and every answer says what it lacks.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct DiscardedTests {
  /// Serials 1 to 10 died in generation A but for 3, 11 to 13 in B but for 12; then 14 dies in the file.
  private func builder(by option: String = "keep living") -> TraceBuilder {
    var builder = TraceBuilder()
    builder.info += [
      InfoRecord(key: "discarded.by", value: option), InfoRecord(key: "discarded.before", value: "2500"),
      InfoRecord(key: "discarded.events", value: "22"),
    ]
    let node = builder.type("App.Node", size: 32)
    builder.birth(node, address: 0x7000, skipping: 2)
    builder.mark("first")
    builder.birth(node, address: 0x8000, skipping: 8)
    builder.death(builder.birth(node, address: 0x9000, skipping: 1))
    builder.rows(
      .totals([
        TotalRecord(type: node, generation: Generation(0), births: 9, bytes: 288),
        TotalRecord(type: node, generation: Generation(1), births: 2, bytes: 100),
      ]))
    return builder
  }

  @Test(arguments: [("keep living", "--keep living"), ("max size", "--max-size"), ("moon", "moon")])
  func theInformationSaysWhatWasDiscarded(by: String, shown: String) throws {
    let analysis = try builder(by: by).analysis()
    let information = try analysis.information()
    #expect(
      information.discarded
        == TraceInformation.Discarded(by: shown, before: TraceTime(2500), objects: 11, events: 22))
    #expect(information.eventsRecorded == 26)
    #expect(information.birthsRecorded == 14)
    #expect(try TraceBuilder().analysis().information().discarded == nil)
  }

  @Test func generationsCountWhatWasDiscardedWhereOnlyTheEndMatters() throws {
    let question = GenerationsQuestion(lifespan: .all)
    let generations = try builder().analysis().answer(question)
    #expect(generations.closed.map(\.transientCount) == [9])
    #expect(generations.closed.map(\.transientBytes) == [ByteCount(288)])
    #expect(generations.closed.map(\.persistentCount) == [1])
    #expect(generations.open.transientCount == 3)
    #expect(generations.open.transientBytes == ByteCount(132))
    // Of those nobody knows when they died.
    for other in [
      GenerationsQuestion(atMark: true, lifespan: .all),
      GenerationsQuestion(window: TimeWindow(to: .mark("first")), lifespan: .all),
    ] {
      #expect(try builder().analysis().answer(other).closed.map(\.transientCount) == [0])
    }
    let split = Analysis(try builder().trace(), laterMarks: [LaterMark(time: TraceTime(500), name: "later")])
    #expect(try split.answer(question).closed.map(\.transientCount) == [0, 0])
    #expect(!GenerationsQuestion.countsDiscarded(window: .whole, atMark: false, split.timeline))
  }

  @Test func howManyOfTheDiscardedWereTemporaryIsNotKnown() throws {
    var builder = builder()
    let other = builder.type("App.Other")
    builder.death(builder.birth(other))
    let statistics = try builder.analysis().answer(StatisticsQuestion(lifespan: .all, countsTemporary: true))
    let counts = Dictionary(uniqueKeysWithValues: statistics.rows.map { ($0.type.name, $0.tally.temporaryCount) })
    #expect(counts == ["App.Node": nil, "App.Other": 1])
    #expect(statistics.total.temporaryCount == nil)
    #expect(statistics.rows.first?.tally.totalCount == 14)
  }

  @Test func aDiscardedObjectIsNotUnknown() throws {
    let analysis = try builder().analysis()
    func problem(_ selector: ObjectSelector) -> String? {
      do {
        _ = try analysis.history(of: selector)
        return nil
      } catch { return error.description }
    }
    let lost = "died before 2500 ns, and its events were discarded (--keep living): only its type's counts have it"
    #expect(problem(.serial(SerialNumber(5))) == "object @5 " + lost)
    #expect(problem(.serial(SerialNumber(15))) == "no object @15 in this recording, which has 14 births")
    #expect(problem(.serial(SerialNumber(12))) == nil)
    #expect(
      problem(.address(ObjectAddress(0x7800)))
        == "no object that is known lay at 0x7800; nearest: 0x7000, 0x8000; what died before 2500 ns was discarded "
        + "(--keep living)")
    #expect(try analysis.history(of: .serial(SerialNumber(12))).object.generation == Generation(1))
  }

  @Test func anAddressThatWasUsedForeverNamesTheNewestAndCountsTheRest() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    for _ in 0..<5000 { builder.death(builder.birth(node, address: 0x7000)) }
    let last = builder.birth(node, address: 0x7000)
    let history = try builder.analysis().history(of: .address(ObjectAddress(0x7000)))
    #expect(history.object.serial == last)
    #expect(history.others.map(\.serial) == (4002...5000).map { SerialNumber($0) })
    #expect(history.earlierOthers == 4001)
  }
}
