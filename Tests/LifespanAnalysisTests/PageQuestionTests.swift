// The questions of the page: what lived over time, counts by generation and stack, histories of many objects. Their sums are those of
// the other questions.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct PageQuestionTests {
  /// Two rounds with objects that stay, go, are kept and moved, on two stacks.
  private static func rounds() -> TraceBuilder {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 64)
    let block = builder.type("malloc 100 B", kind: .malloc, size: 0)
    let stacks = [builder.stack(0x1000), builder.stack(0x2000, 0x1000)]
    for round in 0..<3 {
      for number in 0..<6 {
        let one = builder.birth(node, stack: stacks[number % 2])
        if number % 3 == 0 { builder.death(one) }
        if number == 4 { builder.deinitEnded(one) }
      }
      let moved = builder.birth(block, size: 100, stack: stacks[0])
      builder.move(moved, to: 0x9000 + UInt64(round) * 0x1000, size: 300)
      if round < 2 { builder.mark("round \(round)") }
    }
    return builder
  }

  @Test func theCurveEndsWithWhatStatisticsCallPersistent() throws {
    for steps in [2, 3, 8, 1024] {
      let (curve, statistics) = try Self.rounds().analysis().answer(
        LivingCurveQuestion(steps: steps), StatisticsQuestion())
      #expect(curve.end.count == statistics.total.persistentCount)
      #expect(curve.end.bytes == statistics.total.persistentBytes)
      #expect(curve.steps.count <= steps)
      #expect(curve.steps.map(\.most.bytes).max() == curve.peak.bytes)
      #expect(curve.peak.bytes >= curve.end.bytes)
      #expect(curve.steps.map(\.time) == curve.steps.map(\.time).sorted())
    }
  }

  @Test func thePeakIsToldToTheEventHoweverWideTheSteps() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 10)
    let made = (0..<5).map { _ in builder.birth(node) }
    for one in made { builder.death(one) }
    let curve = try builder.analysis().answer(LivingCurveQuestion(steps: 2))
    #expect(curve.peak == LivingCurve.Level(count: 5, bytes: ByteCount(50)))
    let (_, objects) = try builder.analysis().answer(
      LivingCurveQuestion(), ObjectsQuestion(lifespan: .destroyed))
    #expect(curve.peakTime == objects.objects[4].born)
    #expect(curve.end == LivingCurve.Level())
  }

  @Test func aRecordingWithoutEventsHasAnEmptyCurve() throws {
    let curve = try TraceBuilder().analysis().answer(LivingCurveQuestion())
    #expect(curve.steps.isEmpty && curve.end == LivingCurve.Level() && curve.peak == LivingCurve.Level())
  }

  @Test func sitesByGenerationAddUpToEveryOtherReport() throws {
    let analysis = try Self.rounds().analysis()
    let (sites, statistics, generations, stacks) = try analysis.answer(
      GenerationSitesQuestion(), StatisticsQuestion(lifespan: .all), GenerationsQuestion(lifespan: .all),
      AllocationSitesQuestion(lifespan: .all))
    for row in statistics.rows {
      let sum = sites.rows.filter { $0.type == row.type }.reduce(into: Tally()) { $0 += $1.tally }
      #expect(sum == row.tally, "\(row.type.name)")
    }
    for growth in generations.closed + [generations.open] {
      for row in growth.rows {
        let those = sites.rows.filter { $0.type == row.type && $0.generation == growth.generation }
        #expect(those.reduce(into: Tally()) { $0 += $1.tally } == row.tally, "\(growth.name) \(row.type.name)")
      }
    }
    for row in stacks.rows {
      let those = sites.rows.filter { $0.type == row.type && $0.stack == row.stack }
      #expect(those.reduce(into: Tally()) { $0 += $1.tally } == row.tally, "\(row.stack)")
    }
  }

  @Test func historiesAreThoseThatAreAskedForOneByOne() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 48, tracked: true)
    let all = (0..<4).map { _ in builder.birth(node) }
    builder.retain(all[0])
    builder.retain(all[1])
    builder.release(all[0])
    builder.release(all[1])
    builder.release(all[1])
    builder.death(all[1])
    builder.deinitEnded(all[2])
    let analysis = try builder.analysis()
    let histories = try analysis.answer(HistoriesQuestion(serials: all, limit: 100))
    // To the last nothing happened.
    #expect(histories.entries.map(\.serial) == Array(all.prefix(3)))
    for entry in histories.entries {
      let alone = try analysis.history(of: .serial(entry.serial))
      #expect(entry.events == Array(alone.events.dropFirst()))
      #expect(entry.count == entry.events.count)
    }
    let cut = try analysis.answer(HistoriesQuestion(serials: all, limit: 1))
    #expect(cut.entries.map(\.events.count) == [1, 1, 1])
    #expect(cut.entries.map(\.count) == [2, 4, 1])
  }
}
