// The test of Mann and Kendall for an upward trend: how likely values in random order would rise as much. Used by Trend.

/// Pairs of values that rise, against those that fall.
///
/// The chance is that of the values' own permutations, ties among them; up to 24 values it is counted exactly, beyond that
/// taken from the normal distribution with the variance corrected for ties. Cost: n · log n for n values, and for up to 24 some
/// ten thousand steps.
struct RankTrend {
  /// Values beyond which the normal distribution is used: there it differs by less than a tenth of the chance at 1 in 100.
  static let exactLimit = 24
  private let count: Int
  /// How many values are equal, for each different one, the smallest value first.
  private let ties: [Int]
  /// Pairs of which the later value is smaller.
  private let falls: Int

  init(_ values: [Int64]) {
    count = values.count
    var sorted = values
    var scratch = values
    falls = sorted.withUnsafeMutableBufferPointer { sorted in
      scratch.withUnsafeMutableBufferPointer { RankTrend.sort(sorted, $0) }
    }
    var ties: [Int] = []
    for (place, value) in sorted.enumerated() {
      if place > 0, sorted[place - 1] == value { ties[ties.count - 1] += 1 } else { ties.append(1) }
    }
    self.ties = ties
  }

  /// Pairs of which the values differ.
  private var pairs: Int { (count * (count - 1) - ties.reduce(0) { $0 + $1 * ($1 - 1) }) / 2 }

  /// Rising pairs less falling ones.
  var score: Int { pairs - 2 * falls }

  /// The probability of at least that score where all orders are equally likely: from 0 to 1.
  var chance: Double {
    guard ties.count > 1 else { return 1 }
    return count <= RankTrend.exactLimit ? exactChance : normalChance
  }

  /// How likely each number of falling pairs is in a random order: equal values are put into the row a group at a time, and those
  /// that come to stand before smaller ones make pairs.
  var exactChance: Double {
    var distribution = [1.0]
    var placed = ties[0]
    for group in ties.dropFirst() {
      distribution = RankTrend.sum(distribution, RankTrend.crossings(placed, group))
      placed += group
    }
    return min(1, distribution[0...falls].reduce(0, +))
  }

  /// The number of pairs between two groups that stand the wrong way round, when they are shuffled together (the distribution of
  /// Mann and Whitney).
  private static func crossings(_ first: Int, _ second: Int) -> [Double] {
    // Row after row of the recursion by the last element: it belongs to the first group with probability a / (a + b), and then
    // all b of the second stand before it.
    var row: [[Double]] = (0...second).map { _ in [1.0] }
    for a in 1...first {
      var next: [[Double]] = [[1.0]]
      for b in 1...max(1, second) where b <= second {
        var distribution = [Double](repeating: 0, count: a * b + 1)
        let isFirst = Double(a) / Double(a + b)
        for (pairs, chance) in row[b].enumerated() { distribution[pairs + b] += isFirst * chance }
        for (pairs, chance) in next[b - 1].enumerated() { distribution[pairs] += (1 - isFirst) * chance }
        next.append(distribution)
      }
      row = next
    }
    return row[second]
  }

  private static func sum(_ one: [Double], _ other: [Double]) -> [Double] {
    var sum = [Double](repeating: 0, count: one.count + other.count - 1)
    for (left, chance) in one.enumerated() {
      for (right, otherChance) in other.enumerated() { sum[left + right] += chance * otherChance }
    }
    return sum
  }

  /// The same from the normal distribution.
  var normalChance: Double {
    let n = Double(count)
    let tied = ties.reduce(0.0) { $0 + Double($1) * Double($1 - 1) * Double(2 * $1 + 5) }
    let variance = (n * (n - 1) * (2 * n + 5) - tied) / 18
    // One less: the score goes in steps of two.
    let deviations = (Double(score) - 1) / variance.squareRoot()
    return RankTrend.upperTail(deviations)
  }

  /// The normal distribution's part above so many deviations; Abramowitz and Stegun 26.2.17, right to seven decimals.
  private static func upperTail(_ deviations: Double) -> Double {
    guard deviations >= 0 else { return 1 - upperTail(-deviations) }
    let t = 1 / (1 + 0.231_641_9 * deviations)
    let polynomial =
      t * (0.319_381_530 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))))
    return exponential(-deviations * deviations / 2) * 0.398_942_280_4 * polynomial
  }

  /// e to a power of at most 0. By squaring: no library is needed for it.
  private static func exponential(_ power: Double) -> Double {
    guard power > -700 else { return 0 }
    var sum = 1.0
    var term = 1.0
    let small = power / 1_024
    for order in 1...8 {
      term *= small / Double(order)
      sum += term
    }
    for _ in 0..<10 { sum *= sum }
    return sum
  }

  /// Sorts, and counts the pairs that stood the wrong way round.
  private static func sort(
    _ values: UnsafeMutableBufferPointer<Int64>, _ scratch: UnsafeMutableBufferPointer<Int64>
  ) -> Int {
    var falls = 0
    var width = 1
    while width < values.count {
      for start in stride(from: 0, to: values.count, by: 2 * width) {
        let middle = min(start + width, values.count)
        let end = min(start + 2 * width, values.count)
        var left = start
        var right = middle
        for place in start..<end {
          if left < middle, right >= end || values[left] <= values[right] {
            scratch[place] = values[left]
            left += 1
          } else {
            scratch[place] = values[right]
            falls += middle - left
            right += 1
          }
        }
      }
      for place in values.indices { values[place] = scratch[place] }
      width *= 2
    }
    return falls
  }
}
