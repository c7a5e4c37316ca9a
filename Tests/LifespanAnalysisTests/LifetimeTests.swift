// Lifetimes by type, and counts of sites kept apart by thread, generation and size.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct LifetimeTests {
  @Test func theMedianIsWithinItsBoundOfTheExactOneAndTheEndsAreExact() {
    var random: UInt64 = 7
    for (shift, count) in [(0, 1), (1, 2), (5, 33), (20, 1_000), (33, 4_001), (52, 777)] {
      var values: [Int64] = []
      var lifetimes = Lifetimes()
      for _ in 0..<count {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let value = Int64(random >> 11) >> (52 - shift + Int(random % 7))
        values.append(value)
        lifetimes.add(value)
      }
      values.sort()
      let exact = values[(count - 1) / 2]
      let median = lifetimes.median ?? -1
      #expect(abs(median - exact) * 64 <= exact, "\(count) of \(shift) bits: \(median), exact \(exact)")
      #expect(lifetimes.shortest == values.first && lifetimes.longest == values.last && lifetimes.count == count)
    }
  }

  @Test func equalLifetimesHaveAnExactMedianAndSumsAreThoseOfAllTogether() {
    var one = Lifetimes()
    for _ in 0..<3 { one.add(123_456_789) }
    #expect(one.median == 123_456_789)
    var other = Lifetimes()
    other.add(5)
    other.add(-3)  // Two threads' stamps: none at all.
    #expect(other.shortest == 0)
    one += other
    one += Lifetimes()
    #expect(one.count == 5 && one.shortest == 0 && one.longest == 123_456_789)
    #expect(Lifetimes().median == nil && Lifetimes().shortest == nil)
  }

  @Test func lifetimesAreFromTheBirthToTheEndOfTheDeinitOfWhatIsDestroyed() throws {
    var builder = TraceBuilder()
    builder.step = 1_000
    let node = builder.type("App.Node")
    let other = builder.type("App.Other")
    let short = builder.birth(node)
    builder.death(short)  // 1 step
    let long = builder.birth(node)
    builder.birth(other)
    builder.deinitEnded(long)  // 2 steps
    builder.free(long)
    builder.endNotSeen(builder.birth(node))  // Nobody knows how long.
    let statistics = try builder.analysis().answer(StatisticsQuestion(lifespan: .all, countsLifetimes: true))
    let rows = Dictionary(uniqueKeysWithValues: statistics.rows.map { ($0.type.name, $0.tally.lifetimes) })
    #expect(rows["App.Node"]??.shortest == 1_000 && rows["App.Node"]??.longest == 2_000)
    #expect(rows["App.Node"]??.count == 2 && rows["App.Other"]??.count == 0)
    #expect(statistics.total.lifetimes?.count == 2)
    let plain = try builder.analysis().answer(StatisticsQuestion(lifespan: .all))
    #expect(plain.rows.allSatisfy { $0.tally.lifetimes == nil } && plain.total.lifetimes == nil)
  }

  @Test func whatWasDiscardedHasNoKnownLifetime() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    builder.death(builder.birth(node))
    builder.rows(.totals([TotalRecord(type: node, generation: Generation(0), births: 5, bytes: 240)]))
    let statistics = try builder.analysis().answer(
      StatisticsQuestion(lifespan: .all, countsTemporary: true, countsLifetimes: true))
    #expect(statistics.rows.map(\.tally.lifetimes) == [nil] && statistics.total.lifetimes == nil)
    #expect(statistics.total.temporaryCount == nil && statistics.total.transientCount == 6)
  }

  @Test func sitesAreKeptApartByThreadGenerationAndSizeAndAddUpToTheSame() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 16)
    let worker = builder.thread(2, name: "worker")
    var last: SerialNumber?
    for round in 0..<3 {
      for index in 0..<10 {
        builder.thread = index % 3 == 0 ? worker : .main
        let serial = builder.birth(node, size: index % 2 == 0 ? 16 : 48)
        if index % 4 == 0 { builder.death(serial) } else { last = serial }
      }
      if let last { builder.move(last, to: 0x7000_0000 + UInt64(round) * 4_096, size: 96) }
      builder.mark()
    }
    let analysis = try builder.analysis()
    let whole = try analysis.answer(StatisticsQuestion(lifespan: .all)).total
    for split in [[], .threads, .generations, .sizes, [.threads, .generations, .sizes]] as [SiteSplit] {
      let sites = try analysis.answer(AllocationSitesQuestion(lifespan: .all, split: split))
      #expect(sites.rows.reduce(into: Tally()) { $0 += $1.tally } == whole, "\(split.rawValue)")
      #expect(Set(sites.rows.map(\.thread)).count == (split.contains(.threads) ? 2 : 1))
      #expect(Set(sites.rows.map(\.generation)).count == (split.contains(.generations) ? 3 : 1))
      #expect(Set(sites.rows.map(\.size)).count == (split.contains(.sizes) ? 3 : 1))
    }
    let threads = try analysis.answer(AllocationSitesQuestion(lifespan: .all, split: .threads))
    #expect(threads.rows.first { $0.thread == worker }?.tally.totalCount == 12)
  }
}
