// The verdict over rounds, on levels of every shape, and the chance behind it, against all permutations.
import Testing

@testable import LifespanAnalysis

@Suite struct TrendTests {
  private func verdict(_ levels: [Int64]) -> TrendVerdict { Trend(levels: levels).verdict }

  @Test func whatRisesInEveryRoundIsLinear() {
    for levels: [Int64] in [
      [0, 20, 40, 60, 80], [100, 101, 102, 103, 104], [5, 7, 8, 11, 12], [1, 2, 4, 8, 16, 32],
      [0, 0, 20, 40, 60, 80, 100], [10, 20, 30, 40, 50, 60, 60],
    ] {
      #expect(verdict(levels) == .linear, "\(levels)")
    }
  }

  @Test func aSlowLeakAndOneThatComesAndGoesAreLinearOverEnoughRounds() {
    // One object every third round; a sawtooth whose teeth rise; noise of five on a rise of one a round.
    #expect(verdict((0...24).map { Int64($0 / 3) }) == .linear)
    #expect(verdict([10, 20, 15, 25, 20, 30, 25, 35, 30, 40]) == .linear)
    #expect(verdict((0...40).map { Int64($0) + [0, 3, -2, 5, 1, -4, 2][$0 % 7] }) == .linear)
  }

  @Test func whatHasStoppedRisingStandsOnAPlateau() {
    for (name, levels) in [
      ("nothing", [0, 0, 0, 0, 0]), ("the same", [32, 32, 32, 32, 32]),
      ("filled in the first round", [0, 32, 32, 32, 32]),
      ("a one-off in the second", [4, 4, 5, 5, 5]), ("filled over four rounds", [0, 8, 16, 24, 32, 32, 32, 32, 32]),
      ("a step in the middle", [10, 10, 10, 20, 20, 20, 20, 20]), ("two steps", [0, 4, 4, 8, 8, 8, 8, 8]),
      ("shrinking", [40, 30, 20, 10, 0]), ("shrinking with a bump", [40, 30, 35, 20, 10, 5]),
      ("a sawtooth", [0, 10, 20, 30, 0, 10, 20, 30, 0, 10, 20, 30, 0]), ("a spike", [2, 50, 2, 2, 2, 2]),
      ("rose and fell", [0, 10, 20, 30, 3, 2, 1, 0]),
    ] as [(String, [Int64])] {
      #expect(verdict(levels) == .plateau, "\(name): \(levels)")
    }
  }

  @Test func whatMovesWithoutATrendIsNoise() {
    for (name, levels) in [
      ("up and down", [5, 7, 4, 8, 6, 9, 5]), ("one round of four did not rise", [0, 20, 20, 40, 60]),
      ("a step in the last round but one", [0, 0, 0, 8, 8]), ("a step in the last round", [3, 3, 3, 3, 9]),
      ("two steps far apart", [0, 0, 0, 4, 4, 4, 8, 8]),
    ] as [(String, [Int64])] {
      #expect(verdict(levels) == .noise, "\(name): \(levels)")
    }
  }

  @Test func theRateIsTheMedianOfAllSlopes() {
    #expect(Trend(levels: [0, 20, 40, 60, 80]).perRound == 20_000)
    // One round is other than the rest, and does not move it.
    #expect(Trend(levels: [0, 20, 40, 60, 80, 100, 1_120]).perRound == 20_000)
    #expect(Trend(levels: (0...24).map { Int64($0 / 4) }).perRound == 250)
    #expect(Trend(levels: [40, 30, 20, 10, 0]).perRound == -10_000)
    #expect(Trend(levels: [7, 7, 7]).perRound == 0)
    // Theil's incomplete method, for long rows.
    #expect(Trend(levels: (0...1_200).map { Int64(3 * $0 + [0, 2, 1][$0 % 3]) }).perRound == 3_000)
  }

  @Test func fourRoundsAreTheFewestThatTellARiseFromChance() {
    // 1 in 120, and of three rounds 1 in 24.
    #expect(Trend(levels: [0, 1, 2, 3, 4]).chance == 8_333)
    #expect(Trend(levels: [0, 1, 2, 3]).chance == 41_667)
    #expect(Trend(levels: [0, 1, 2, 3]).verdict == .noise)
    #expect(Trend.mostChance == 10_000 && Trend.roundsNeeded == 4)
  }

  @Test func aJumpFromTheStartTellsNothing() {
    // What is made once, and a few bytes in each round after: three rounds are left, and they are too few.
    #expect(Trend(levels: [0, 87_089, 87_137, 87_153, 87_185], fromStart: true).verdict == .noise)
    #expect(Trend(levels: [0, 87_089, 87_137, 87_153, 87_185, 87_200], fromStart: true).verdict == .linear)
    #expect(Trend(levels: [0, 20, 40, 60, 80], fromStart: true).verdict == .linear)
    #expect(Trend(levels: [0, 35, 55, 75, 95], fromStart: true).verdict == .linear)
    #expect(Trend(levels: [0, 32, 32, 32, 32], fromStart: true).verdict == .plateau)
  }

  @Test func theChanceIsThatOfAllPermutations() {
    for values: [Int64] in [
      [1, 2, 3, 4], [1, 1, 2, 3], [1, 1, 2, 2], [1, 2, 2, 2, 3], [1, 2, 3, 4, 5], [1, 1, 1, 2, 3, 3],
      [4, 4, 4, 4, 5],
    ] {
      let all = permutations(values)
      let scores = all.map(plainScore)
      for (order, score) in zip(all, scores) {
        let trend = RankTrend(order)
        let expected = Double(scores.filter { $0 >= score }.count) / Double(all.count)
        guard trend.score == score, abs(trend.chance - expected) < 1e-9 else {
          Issue.record("\(order): score \(trend.score), not \(score); chance \(trend.chance), not \(expected)")
          continue
        }
      }
    }
    #expect(RankTrend([3, 3, 3]).chance == 1)
    #expect(RankTrend([]).chance == 1)
  }

  @Test func beyondTheExactOnesTheNormalDistributionIsNear() {
    var compared = 0
    for seed in 1...80 {
      var state = UInt64(seed)
      let values = (0..<RankTrend.exactLimit).map { place -> Int64 in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int64(place) / 4 + Int64(state >> 60)
      }
      let trend = RankTrend(values)
      guard (0.007...0.05).contains(trend.exactChance) else { continue }
      compared += 1
      #expect(abs(trend.normalChance - trend.exactChance) < 0.1 * trend.exactChance, "\(seed)")
    }
    #expect(compared > 5)
    let rising = RankTrend((0..<100).map { Int64($0) })
    #expect(rising.chance < 1e-9 && rising.score == 4_950)
  }

  private func plainScore(_ values: [Int64]) -> Int {
    var score = 0
    for later in values.indices {
      for earlier in 0..<later { score += Int((values[later] - values[earlier]).signum()) }
    }
    return score
  }

  private func permutations(_ values: [Int64]) -> [[Int64]] {
    guard let first = values.first else { return [[]] }
    return permutations(Array(values.dropFirst())).flatMap { rest in
      (0...rest.count).map { place in rest.prefix(place) + [first] + rest.suffix(rest.count - place) }
    }
  }
}
