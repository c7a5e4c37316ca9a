// The high-water mark: the exact event, by bytes, and what other questions see at it.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct PeakTests {
  @Test func thePeakIsTheFirstMomentOfMostBytesAndEveryQuestionSeesThatMoment() throws {
    var builder = TraceBuilder()
    builder.step = 0  // All events have one stamp: only their order tells the peak.
    let node = builder.type("App.Node", size: 100)
    let small = builder.type("App.Small", size: 10)
    let first = builder.birth(node)
    let second = builder.birth(node)
    builder.birth(small)  // 210, the peak.
    builder.death(first)
    builder.birth(node)  // 210 again: the first one counts.
    builder.death(second)
    builder.birth(small)
    let analysis = try builder.analysis()
    let peak = try analysis.answer(PeakQuestion())
    #expect(peak.events == 3 && peak.livingCount == 3 && peak.livingBytes == ByteCount(210))
    let window = TimeWindow(to: .peak(peak))
    let (statistics, objects) = try analysis.answer(
      StatisticsQuestion(lifespan: .all, window: window), ObjectsQuestion(window: window))
    #expect(lines(statistics) == ["App.Node living 2/200 destroyed 0/0", "App.Small living 1/10 destroyed 0/0"])
    #expect(objects.count == 3 && objects.bytes == ByteCount(210))
  }

  @Test func memoryThatUnownedReferencesKeepCountsByItsBytesAndAMoveByItsNewSize() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 64)
    let kept = builder.birth(node)
    builder.deinitEnded(kept)
    let grown = builder.birth(node)
    builder.move(grown, to: 0x6000_0000, size: 1_000)  // 1,064, the peak.
    builder.free(kept)
    let analysis = try builder.analysis()
    let peak = try analysis.answer(PeakQuestion())
    #expect(peak.livingCount == 1 && peak.livingBytes == ByteCount(1_064))
    let statistics = try analysis.answer(StatisticsQuestion(window: TimeWindow(to: .peak(peak))))
    #expect(statistics.total.persistentBytes == peak.livingBytes && statistics.total.persistentCount == 1)
  }

  @Test func aPeakAfterAMarkIsLookedForFromThereOn() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 10)
    let early = (0..<5).map { _ in builder.birth(node) }
    for serial in early.prefix(4) { builder.death(serial) }
    builder.mark("warm")
    builder.birth(node)
    builder.birth(node)  // 30 live, 20 of them younger than the mark.
    builder.death(early[4])
    let analysis = try builder.analysis()
    #expect(try analysis.answer(PeakQuestion()).livingBytes == ByteCount(50))
    let peak = try analysis.answer(PeakQuestion(from: .mark("warm")))
    #expect(peak.livingBytes == ByteCount(30) && peak.livingCount == 3)
    let window = TimeWindow(from: .mark("warm"), to: .peak(peak))
    #expect(try analysis.answer(StatisticsQuestion(window: window)).total.persistentBytes == ByteCount(20))
  }

  @Test func whatOnlyShrinksHasItsPeakWhereTheStretchBegins() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 10)
    let all = (0..<3).map { _ in builder.birth(node) }
    builder.mark("full")
    for serial in all { builder.death(serial) }
    builder.mark("empty")
    let analysis = try builder.analysis()
    let peak = try analysis.answer(PeakQuestion(from: .mark("full")))
    #expect(peak.events == 3 && peak.livingBytes == ByteCount(30))
    let end = try analysis.answer(PeakQuestion(from: .mark("empty")))
    #expect(end.events == .max && end.livingBytes == ByteCount(0))
  }

  @Test func nothingAllocatedHasItsPeakBeforeTheFirstEvent() throws {
    let peak = try TraceBuilder().analysis().answer(PeakQuestion())
    #expect(peak == Peak(events: 0, time: .start, livingCount: 0, livingBytes: .zero))
  }

  /// Every cut of a random run: what `stats` counts at the peak is what no other moment exceeds.
  @Test func noOtherMomentOfARandomRunHoldsMore() throws {
    var builder = TraceBuilder()
    let type = builder.type("App.Node", size: 1)
    var random: UInt64 = 42
    func next(_ limit: UInt64) -> UInt64 {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (random >> 33) % limit
    }
    var living: [(SerialNumber, Int64)] = []
    var sum: Int64 = 0
    var sums: [Int64] = [0]
    for _ in 0..<600 {
      if living.isEmpty || next(100) < 52 {
        let size = Int64(next(500)) + 1
        living.append((builder.birth(type, size: size), size))
        sum += size
      } else {
        let (serial, size) = living.remove(at: Int(next(UInt64(living.count))))
        builder.death(serial)
        sum -= size
      }
      sums.append(sum)
    }
    let peak = try builder.analysis().answer(PeakQuestion())
    let most = sums.max() ?? 0
    #expect(peak.livingBytes == ByteCount(most) && Int(peak.events) == sums.firstIndex(of: most))
  }
}
