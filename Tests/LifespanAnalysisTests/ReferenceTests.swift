// Retains and releases by type, and the counts and idle times of single objects.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct ReferenceTests {
  /// What a type's row says: retains, releases, net, references.
  private func numbers(_ tally: Tally) -> [Int?] { [tally.retains, tally.releases, tally.net, tally.references] }

  private func rows(
    _ analysis: Analysis, window: TimeWindow = .whole, types: TypeFilter = TypeFilter()
  ) throws -> (byName: [String: [Int?]], total: [Int?]) {
    let statistics = try analysis.answer(
      StatisticsQuestion(lifespan: .all, types: types, window: window, countsReferences: true))
    let named = statistics.rows.map { ($0.type.name, numbers($0.tally)) }
    return (Dictionary(uniqueKeysWithValues: named), numbers(statistics.total))
  }

  private func objects(_ analysis: Analysis, _ lifespan: LifespanFilter = .all) throws -> [String] {
    try analysis.answer(ObjectsQuestion(lifespan: lifespan)).objects.map {
      "@\($0.serial) \($0.retainCount.map(String.init) ?? "?") \($0.idle.map { String($0) } ?? "?")"
    }
  }

  /// Everything is recorded: a node that dies, one that is held three times, an array, a block.
  private func builder() -> TraceBuilder {
    var builder = TraceBuilder()
    builder.info.append(InfoRecord(key: "refcounts", value: "all"))
    let node = builder.type("App.Node")
    let array = builder.type("Swift._ContiguousArrayStorage<Swift.Int>", kind: .array)
    let block = builder.type("malloc 64 B", kind: .malloc)
    let dead = builder.birth(node)  // 0
    let held = builder.birth(node)  // 1,000
    builder.birth(array)  // 2,000
    builder.birth(block)  // 3,000
    builder.retain(dead)  // 4,000
    builder.retain(held, by: 4)  // 5,000
    builder.mark("half")  // 6,000
    builder.release(held, by: 2)  // 6,000
    builder.release(dead, by: 2)  // 7,000
    builder.death(dead)  // 8,000
    return builder
  }

  @Test func everyTypeHasItsRetainsAndReleasesAndWhatTheyLeave() throws {
    let (named, total) = try rows(builder().analysis())
    #expect(named["App.Node"] == [5, 4, 1, 3])
    #expect(named["Swift._ContiguousArrayStorage<Swift.Int>"] == [0, 0, 0, 1])
    #expect(named["malloc 64 B"] == [nil, nil, nil, nil])
    #expect(total == [5, 4, 1, 4])
  }

  @Test func aWindowHasThoseUpToItsEndAndAFilterThoseOfItsTypes() throws {
    let analysis = try builder().analysis()
    #expect(try rows(analysis, window: TimeWindow(to: .mark("half"))).byName["App.Node"] == [5, 0, 5, 7])
    #expect(try rows(analysis, types: TypeFilter(include: ["Swift.*"])).total == [0, 0, 0, 1])
  }

  @Test func whatIsNotAskedForIsNotThere() throws {
    let statistics = try builder().analysis().answer(StatisticsQuestion())
    #expect(numbers(statistics.total) == [nil, nil, nil, nil])
  }

  @Test func onlyTypesThatWereRecordedHaveNumbers() throws {
    var builder = TraceBuilder()
    let tracked = builder.birth(builder.type("App.Tracked", tracked: true))
    builder.birth(builder.type("App.Plain"))
    builder.retain(tracked, before: 1)
    let (named, total) = try rows(builder.analysis())
    #expect(named["App.Tracked"] == [1, 0, 1, 2])
    #expect(named["App.Plain"] == [nil, nil, nil, nil])
    #expect(total == [1, 0, 1, 2])
    #expect(try objects(builder.analysis()) == ["@1 2 1000", "@2 ? ?"])
  }

  @Test func aReleaseThatIsToldBehindItsObjectsDeathCounts() throws {
    var builder = builder()
    builder.release(SerialNumber(1))
    #expect(try rows(builder.analysis()).byName["App.Node"] == [5, 5, 0, 3])
  }

  @Test func lostEventsLeaveSumsButNoCounts() throws {
    var builder = builder()
    builder.gap(others: 3)
    #expect(try rows(builder.analysis()).byName["App.Node"] == [5, 4, 1, nil])
    // What the last event saw is the best that is known of a single object.
    #expect(try objects(builder.analysis(), .living).map { $0.split(separator: " ")[1] } == ["?", "?", "?"])
  }

  @Test func whereOlderEventsWereDiscardedSumsAreNotKnown() throws {
    for key in ["history.dropped", "discarded.by"] {
      var builder = builder()
      builder.info.append(InfoRecord(key: key, value: "5"))
      let (named, total) = try rows(builder.analysis())
      #expect(named["App.Node"] == [nil, nil, nil, nil])
      #expect(total == [nil, nil, nil, nil])
      #expect(try objects(builder.analysis(), .living).contains("@3 ? ?"))
    }
  }

  @Test func aTypeThatIsTrackedLateHasNoCountsButWhatItsEventsSaw() throws {
    var builder = TraceBuilder()
    let node = TypeRecord(id: TypeID(1), flags: 1 | 2 | 8, name: "App.Node")
    builder.rows(.types([node]))
    let seen = builder.birth(node.id, size: 32)
    builder.birth(node.id, size: 32)
    builder.retain(seen, before: 6)
    let analysis = try builder.analysis()
    #expect(try rows(analysis).byName["App.Node"] == [1, 0, 1, nil])
    #expect(try objects(analysis) == ["@1 7 1000", "@2 ? 2000"])
  }

  @Test func anObjectHasItsCountAndIsIdleSinceItWasTouchedLast() throws {
    let analysis = try builder().analysis()
    #expect(try objects(analysis) == ["@1 ? ?", "@2 3 3000", "@3 1 7000", "@4 ? ?"])
    #expect(try objects(analysis, .living) == ["@2 3 3000", "@3 1 7000", "@4 ? ?"])
    let early = try analysis.answer(ObjectsQuestion(window: TimeWindow(to: .mark("half"))))
    #expect(early.objects.map(\.retainCount) == [2, 5, 1, nil])
  }

  @Test func aDeinitedObjectHasNeither() throws {
    var builder = builder()
    builder.deinitEnded(SerialNumber(2))
    #expect(try objects(builder.analysis())[1] == "@2 ? ?")
  }
}
