// The counts of one row. Counts follow the deinit, bytes follow the memory.
import LifespanTrace

/// How many objects were made, live and were destroyed, and their bytes.
///
/// Counts follow the deinit, bytes the memory: an object that was deinitialised while unowned references keep its memory
/// is destroyed by number and persistent by bytes, and stands in `keptCount`, `keptBytes` besides.
/// An object counts with the size that it had last. `total = persistent + transient` always.
public struct Tally: Sendable, Codable, Hashable {
  /// Objects living at the end of the time looked at.
  public var persistentCount: Int
  /// Bytes not yet freed at the end of the time looked at.
  public var persistentBytes: ByteCount
  /// Objects made and destroyed within the time looked at.
  public var transientCount: Int
  /// Bytes allocated and freed within the time looked at.
  public var transientBytes: ByteCount
  /// Objects destroyed whose memory was kept to the end by unowned references; part of `transientCount`.
  public var keptCount: Int
  /// Their bytes; part of `persistentBytes`.
  public var keptBytes: ByteCount
  /// Objects destroyed before the next allocation of the thread that made them; part of `transientCount`.
  /// Nil where the question did not ask for it.
  public var temporaryCount: Int?
  /// Strong references that were taken, by retains and by reads of weak and unowned references; nil where the question did
  /// not ask for it, or they were not recorded.
  public var retains: Int?
  /// Strong references that were given back; nil as `retains`.
  public var releases: Int?
  /// Strong references to the objects that live at the end of the time looked at: a birth brings the first. Nil as
  /// `retains`, and where not every event of them is in the recording.
  public var references: Int?
  /// How long the destroyed ones lived, where their ends were seen; nil where the question did not ask for it, or not every
  /// event of them is in the recording.
  public var lifetimes: Lifetimes?

  /// `retains` less `releases`.
  public var net: Int? {
    guard let retains, let releases else { return nil }
    return retains &- releases
  }
  /// All objects made.
  public var totalCount: Int { persistentCount &+ transientCount }
  /// All bytes allocated.
  public var totalBytes: ByteCount { persistentBytes + transientBytes }

  /// Memberwise, all zero by default.
  public init(
    persistentCount: Int = 0, persistentBytes: ByteCount = .zero, transientCount: Int = 0,
    transientBytes: ByteCount = .zero, keptCount: Int = 0, keptBytes: ByteCount = .zero, temporaryCount: Int? = nil,
    retains: Int? = nil, releases: Int? = nil, references: Int? = nil, lifetimes: Lifetimes? = nil
  ) {
    self.persistentCount = persistentCount
    self.persistentBytes = persistentBytes
    self.transientCount = transientCount
    self.transientBytes = transientBytes
    self.keptCount = keptCount
    self.keptBytes = keptBytes
    self.temporaryCount = temporaryCount
    self.retains = retains
    self.releases = releases
    self.references = references
    self.lifetimes = lifetimes
  }

  /// Adds another row's counts.
  public static func += (left: inout Tally, right: Tally) {
    left.persistentCount &+= right.persistentCount
    left.persistentBytes += right.persistentBytes
    left.transientCount &+= right.transientCount
    left.transientBytes += right.transientBytes
    left.keptCount &+= right.keptCount
    left.keptBytes += right.keptBytes
    left.temporaryCount = sum(left.temporaryCount, right.temporaryCount)
    left.retains = sum(left.retains, right.retains)
    left.releases = sum(left.releases, right.releases)
    left.references = sum(left.references, right.references)
    if let more = right.lifetimes {
      if left.lifetimes == nil { left.lifetimes = more } else { left.lifetimes? += more }
    }
  }

  private static func sum(_ left: Int?, _ right: Int?) -> Int? {
    guard let right else { return left }
    return (left ?? 0) &+ right
  }

  /// The counts of two rows together.
  public static func + (left: Tally, right: Tally) -> Tally {
    var sum = left
    sum += right
    return sum
  }
}
