// The answer of GrowthQuestion: what lived at each mark, by type, and what that does from round to round. Rendered by the growth report.
import LifespanTrace

/// The living of each type at each mark, and the trend of that.
public struct GrowthTrends: Sendable, Codable, Equatable {
  /// One type.
  public struct Row: Sendable, Codable, Hashable {
    /// The type.
    public var type: TypeIdentity
    /// Objects living before the first round and at the end of each. Exact.
    public var counts: [Int]
    /// Their bytes.
    public var bytes: [Int64]
    /// Of each round, the objects born in it that live at the end of the recording.
    public var left: [Int]
    /// The trend of `counts`; nil where there are not enough rounds.
    public var byCount: Trend?
    /// The trend of `bytes`: a buffer may grow though there is one of it.
    public var byBytes: Trend?

    /// Memberwise.
    public init(
      type: TypeIdentity, counts: [Int], bytes: [Int64], left: [Int], byCount: Trend?, byBytes: Trend?
    ) {
      self.type = type
      self.counts = counts
      self.bytes = bytes
      self.left = left
      self.byCount = byCount
      self.byBytes = byBytes
    }

    /// The trends of the levels, where there are enough rounds; `fromStart` as for them.
    public init(type: TypeIdentity, counts: [Int], bytes: [Int64], left: [Int], fromStart: Bool) {
      let isEnough = counts.count > Trend.roundsNeeded
      self.init(
        type: type, counts: counts, bytes: bytes, left: left,
        byCount: isEnough ? Trend(levels: counts.map(Int64.init), fromStart: fromStart) : nil,
        byBytes: isEnough ? Trend(levels: bytes, fromStart: fromStart) : nil)
    }

    /// Linear where number or bytes are; else noise where one of them is. Nil where there are not enough rounds.
    public var verdict: TrendVerdict? {
      guard let byCount, let byBytes else { return nil }
      return [.linear, .noise].first { $0 == byCount.verdict || $0 == byBytes.verdict } ?? .plateau
    }
  }

  /// A round: what lies between two marks.
  public struct Round: Sendable, Codable, Hashable {
    /// The name of the mark that ended it.
    public var name: String
    /// When that was set.
    public var time: TraceTime

    /// Memberwise.
    public init(name: String, time: TraceTime) {
      self.name = name
      self.time = time
    }
  }

  /// Why marks at the beginning are no rounds.
  public enum WarmUp: String, Sendable, Codable, Hashable {
    /// Nothing was left out: the first round begins with the recording.
    case none
    /// It was asked for.
    case asked
    /// They are called so.
    case named
    /// The first one, as nothing else was said and enough others are there.
    case first
    /// What died before was discarded while recording: nobody knows how much lived at earlier marks.
    case discarded
  }

  /// Names of the marks that were left out at the beginning, oldest first. The last one's levels are where the first round begins.
  public var warmUpMarks: [String]
  /// Why these.
  public var warmUp: WarmUp
  /// The number of the mark where the first round begins; nil: the start of the recording.
  public var firstMark: Int?
  /// The number of the mark that ends the last round; nil where there are no marks.
  public var lastMark: Int?
  /// When the first round began.
  public var begin: TraceTime
  /// The rounds, oldest first.
  public var rounds: [Round]
  /// Why there is no verdict; nil where there is one.
  public var withheld: String?
  /// Types of which something lived at one of the levels: linear ones first, then noise; most bytes a round first, then name.
  public var rows: [Row]
  /// All of the rows that are memory of the heap (all rows where nothing of that was asked for).
  public var total: Row

  /// Memberwise.
  public init(
    warmUpMarks: [String], warmUp: WarmUp, firstMark: Int?, lastMark: Int?, begin: TraceTime, rounds: [Round],
    withheld: String?, rows: [Row], total: Row
  ) {
    self.warmUpMarks = warmUpMarks
    self.warmUp = warmUp
    self.firstMark = firstMark
    self.lastMark = lastMark
    self.begin = begin
    self.rounds = rounds
    self.withheld = withheld
    self.rows = rows
    self.total = total
  }

  /// How many rows have that verdict.
  public func count(of verdict: TrendVerdict) -> Int { rows.lazy.filter { $0.verdict == verdict }.count }

  /// What a rate of so many thousandths a round is in an hour, if rounds went on as long as these; nil where they took no time.
  public func perHour(_ perRound: Int64) -> Int64? {
    guard let last = rounds.last, last.time > begin else { return nil }
    let seconds = Double(last.time.rawValue - begin.rawValue) / 1e9 / Double(rounds.count)
    let rate = (Double(perRound) / 1_000 * 3_600 / seconds).rounded()
    return rate.magnitude < 9e18 ? Int64(rate) : nil
  }
}
