// Whether a row of levels grows, and how fast: the inference of `lifespan growth`. Made by GrowthQuestion for each type; the
// method and its sources stand in LifespanReport.docc/Growth.md.

/// What levels do from round to round. An inference: the levels themselves are exact.
public enum TrendVerdict: String, Sendable, Codable, Hashable, CaseIterable {
  /// They rise with the rounds, and still do.
  case linear
  /// They move, and nothing tells whether they rise.
  case noise
  /// They have stopped rising, or never did.
  case plateau
}

/// The trend of one row of levels: the first before the first round, then one at the end of each.
public struct Trend: Sendable, Codable, Hashable {
  /// What the levels do.
  public var verdict: TrendVerdict
  /// By how much they rise in a round, in thousandths: the median of the slopes between all pairs of levels (Theil, Sen). Not
  /// moved by single rounds that are other than the rest.
  public var perRound: Int64
  /// Rounds, from 1, that ended on a level above all earlier ones.
  public var highs: [Int]
  /// How likely levels in no order at all would rise as much, in millionths (Mann and Kendall, one-sided, exact up to
  /// 24 levels).
  public var chance: Int64

  /// Rounds that a verdict needs: a rise in each of four is rarer than 1 in 100 by chance (1 in 120), in each of three it is not.
  public static let roundsNeeded = 4
  /// What `chance` must not pass for `linear`: 1 in 100.
  public static let mostChance: Int64 = 10_000

  /// The trend of the levels, of which there must be at least two. `fromStart`: the first one is the start of the recording, when nothing
  /// was there; a rise from there that is more than twice as high as any other is what is made once, and tells nothing.
  public init(levels: [Int64], fromStart: Bool = false) {
    var highest = levels.first ?? 0
    var highs: [Int] = []
    for (round, level) in levels.enumerated() where level > highest {
      highest = level
      highs.append(round)
    }
    self.highs = highs
    // Most types never rise: nothing has to be reckoned for them.
    let counted = fromStart && Self.beginsWithJump(levels) ? Array(levels.dropFirst()) : levels
    chance = highs.isEmpty ? 1_000_000 : Int64((RankTrend(counted).chance * 1_000_000).rounded())
    perRound = levels.contains { $0 != levels[0] } ? Self.medianSlope(levels) : 0
    verdict = Self.verdict(highs, rounds: max(0, levels.count - 1), chance, perRound)
  }

  private static func beginsWithJump(_ levels: [Int64]) -> Bool {
    let rises = zip(levels.dropFirst(), levels).map { $0 - $1 }
    guard let first = rises.first, let highest = rises.dropFirst().max() else { return false }
    return first > 2 * max(0, highest)
  }

  /// How many rounds at the end have passed no earlier level, and the most rounds from one new high to the next before that.
  private static func pauses(_ highs: [Int], rounds: Int) -> (now: Int, longest: Int) {
    let steps = zip(highs, [0] + highs.dropLast()).map { $0 - $1 }
    return (rounds - (highs.last ?? 0), steps.max() ?? 0)
  }

  private static func verdict(_ highs: [Int], rounds: Int, _ chance: Int64, _ perRound: Int64) -> TrendVerdict {
    guard !highs.isEmpty else { return .plateau }
    let pauses = pauses(highs, rounds: rounds)
    // It has stood still for longer than ever while it rose.
    let hasStopped = pauses.now > pauses.longest || 2 * pauses.now >= rounds
    if hasStopped { return .plateau }
    return chance <= mostChance && highs.count >= 3 && perRound > 0 ? .linear : .noise
  }

  /// The median of (level j − level i) / (j − i), in thousandths. Of long rows the pairs half of the row apart (Theil's
  /// incomplete method): all of them would be millions.
  private static func medianSlope(_ levels: [Int64]) -> Int64 {
    let count = levels.count
    var slopes: [Double] = []
    if count > 128 {
      let half = count / 2
      slopes = (0..<(count - half)).map { Double(levels[$0 + half] - levels[$0]) / Double(half) }
    } else {
      for later in 1..<count {
        for earlier in 0..<later {
          slopes.append(Double(levels[later] - levels[earlier]) / Double(later - earlier))
        }
      }
    }
    slopes.sort()
    let middle = slopes.count / 2
    let median = slopes.count % 2 == 1 ? slopes[middle] : (slopes[middle - 1] + slopes[middle]) / 2
    return Int64((median * 1_000).rounded())
  }
}
