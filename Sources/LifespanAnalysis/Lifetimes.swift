// How long the objects of a row lived, in memory that does not grow with their number. Part of Tally; made by
// StatisticsCollector.

/// Lifetimes of destroyed objects: from the birth to the end of the deinit, in nanoseconds.
///
/// The shortest and the longest are exact, as far as a recording's times are. The median is an estimate: a lifetime is counted
/// in a bucket that is a thirty-second of its begin wide, and the middle of the median's bucket stands for it. So it is at most
/// 1.6 % beside the median that a list of all of them would have; exact where they are all the same, and below 64 ns.
public struct Lifetimes: Sendable, Codable, Hashable {
  /// How many.
  public private(set) var count = 0
  /// The shortest; nil of none.
  public private(set) var shortest: Int64?
  /// The longest.
  public private(set) var longest: Int64?
  private var buckets: [Int32: Int] = [:]

  private static let stepBits: Int64 = 5

  /// None.
  public init() {}

  /// Adds one. Two stamps of different threads may stand the wrong way round: that is none at all.
  public mutating func add(_ lifetime: Int64) {
    let value = max(0, lifetime)
    count += 1
    shortest = min(shortest ?? value, value)
    longest = max(longest ?? value, value)
    buckets[Self.bucket(value), default: 0] += 1
  }

  /// Adds those of another row.
  public static func += (left: inout Lifetimes, right: Lifetimes) {
    guard let shortest = right.shortest, let longest = right.longest else { return }
    left.count += right.count
    left.shortest = min(left.shortest ?? shortest, shortest)
    left.longest = max(left.longest ?? longest, longest)
    left.buckets.merge(right.buckets) { $0 + $1 }
  }

  /// The median, or the lower one of the two in the middle, to 1.6 %; nil of none.
  public var median: Int64? {
    guard let shortest, let longest else { return nil }
    var before = 0
    for bucket in buckets.keys.sorted() {
      before += buckets[bucket] ?? 0
      if before > (count - 1) / 2 { return min(max(Self.middle(of: bucket), shortest), longest) }
    }
    return longest
  }

  /// Values below 32 have a bucket each; then every power of two has 32.
  private static func bucket(_ value: Int64) -> Int32 {
    guard value >= 1 << stepBits else { return Int32(value) }
    let shift = Int64(63 - value.leadingZeroBitCount) - stepBits
    return Int32((shift + 1) << stepBits | (value >> shift & (1 << stepBits - 1)))
  }

  private static func middle(of bucket: Int32) -> Int64 {
    let number = Int64(bucket)
    guard number >= 1 << stepBits else { return number }
    let shift = number >> stepBits - 1
    let begin = (1 << stepBits | number & (1 << stepBits - 1)) << shift
    return begin + (1 << shift) / 2
  }
}
