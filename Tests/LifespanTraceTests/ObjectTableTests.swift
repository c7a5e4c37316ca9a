// The table of what lives: right whoever outlives whom, and no larger than what lives.
import Testing

@testable import LifespanTrace

@Suite struct ObjectTableTests {
  /// Lives of objects that are born one after another: what is living must be in the table, all else not.
  private struct Lives {
    let table = ObjectTable<UInt64>(empty: 0)
    var living: [Int: UInt64] = [:]
    var births = 0
    // Deterministic: the same lives in every run.
    private var seed: UInt64 = 0x9e37_79b9_7f4a_7c15

    mutating func random(below limit: Int) -> Int {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((seed >> 33) % UInt64(limit))
    }

    @discardableResult
    mutating func birth() -> Int {
      let value = UInt64(births) &* 7 &+ 1
      table.insert(births, value)
      living[births] = value
      births += 1
      return births - 1
    }

    mutating func death(_ object: Int) {
      table.remove(object)
      living[object] = nil
    }

    func check() {
      var seen: [Int: UInt64] = [:]
      var last = -1
      var isOrdered = true
      table.forEach { object, place in
        isOrdered = isOrdered && object > last
        last = object
        if place.pointee != 0 { seen[object] = place.pointee }
      }
      #expect(isOrdered)
      #expect(seen == living)
    }
  }

  @Test func aFewThatOutliveTheirNeighboursKeepTheirValues() {
    var lives = Lives()
    for round in 0..<300 {
      let first = lives.births
      for _ in 0..<1024 { lives.birth() }
      // 0, 10 … 200 of each page live on: below and above what is few.
      for object in first..<lives.births where (object * 37) % 1024 >= (round % 21) * 10 { lives.death(object) }
    }
    lives.check()
    for object in 0..<lives.births { #expect((lives.table.place(object)?.pointee ?? 0) == (lives.living[object] ?? 0)) }
    // Values can be changed where they are, and go one by one.
    for object in lives.living.keys.sorted() where object % 3 == 0 {
      lives.table.place(object)?.pointee += 1
      lives.living[object]? += 1
    }
    lives.check()
    for object in lives.living.keys.sorted() where object % 2 == 0 { lives.death(object) }
    lives.check()
    // Removing what is gone changes nothing.
    lives.table.remove(2)
    lives.table.remove(lives.births + 100_000)
    lives.check()
    for object in lives.living.keys.sorted() { lives.death(object) }
    lives.check()
  }

  @Test func drainingGivesAllInOrderAndLeavesNothing() {
    var lives = Lives()
    for index in 0..<200_000 {
      let object = lives.birth()
      if index % 50 != 0 { lives.death(object) }
    }
    var drained: [Int] = []
    lives.table.drain { object, value in if value != 0 { drained.append(object) } }
    #expect(drained == lives.living.keys.sorted())
    lives.living = [:]
    lives.check()
  }

  @Test func memoryFollowsWhatLivesWhereverItWasBorn() {
    var lives = Lives()
    var pool: [Int] = []
    var most = 0
    for index in 0..<2_000_000 {
      let object = lives.birth()
      if index % 16 != 0 {
        lives.death(object)
      } else if pool.count < 10_000 {
        pool.append(object)
      } else {
        let place = lives.random(below: pool.count)
        lives.death(pool[place])
        pool[place] = object
      }
      if index % 10_000 == 0 { most = max(most, lives.table.memory) }
    }
    lives.check()
    // 10,000 objects of 8 bytes live, spread over all pages: a ring of 512 KiB, stragglers of 16 bytes at most an eighth full,
    // the directory. With pages that stay as long as one of theirs lives it was 12 MB.
    #expect(most < 2_200_000)
    #expect(most > 500_000)
  }

  @Test func oneOldObjectKeepsNoPage() {
    var lives = Lives()
    lives.birth()
    for _ in 0..<1_000_000 { lives.death(lives.birth()) }
    #expect(lives.living.count == 1)
    lives.check()
    // What is left is the ring of the newest, 512 KiB, and the directory of 1,000 pages.
    #expect(lives.table.memory < 550_000)
    for _ in 0..<3_000_000 { lives.death(lives.birth()) }
    #expect(lives.table.memory < 600_000)
  }

  @Test func objectsThatAreLeftOutHaveNoValueAndKeepNone() {
    var lives = Lives()
    for step in [1, 3, 1023, 1024, 1025, 70_000, 65_536, 200_000, 2] {
      let first = lives.births
      for _ in 0..<2000 { lives.birth() }
      for object in first..<lives.births where object % 3 != 0 { lives.death(object) }
      // Of these nothing is followed; what looks for one of them finds nothing.
      let left = lives.births
      lives.births += step
      for object in stride(from: left, to: lives.births, by: 97) {
        #expect((lives.table.place(object)?.pointee ?? 0) == 0)
      }
      lives.check()
    }
    lives.birth()
    lives.check()
    for object in 0..<lives.births { #expect((lives.table.place(object)?.pointee ?? 0) == (lives.living[object] ?? 0)) }
  }
}
