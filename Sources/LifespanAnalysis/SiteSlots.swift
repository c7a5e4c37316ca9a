// Counters of one birth site kept apart by thread or generation. Used by StatisticsCollector.

/// By what counts of one birth site are kept apart.
public struct SiteSplit: OptionSet, Sendable, Codable, Hashable {
  /// The bits.
  public let rawValue: Int
  /// Wraps bits.
  public init(rawValue: Int) { self.rawValue = rawValue }
  /// By the thread that made the object.
  public static let threads = SiteSplit(rawValue: 1)
  /// By the generation in which it was made.
  public static let generations = SiteSplit(rawValue: 2)
  /// By size: sites have one anyway, and are summed up over it elsewhere.
  public static let sizes = SiteSplit(rawValue: 4)
}

/// Numbers for (site, thread, generation), given out as they occur: memory for those that do.
struct SiteSlots {
  struct Key: Hashable {
    var site: UInt32
    var thread: UInt32
    var generation: UInt32
  }

  private(set) var keys: [Key] = []
  private var numbers: [Key: UInt32] = [:]
  // Of each site the slot that was used last: mostly it is used again.
  private var newest: [UInt32]

  init(sites: Int) { newest = [UInt32](repeating: .max, count: sites) }

  /// The number of a key.
  mutating func number(_ key: Key) -> UInt32 {
    let last = newest[Int(key.site)]
    if last != .max, keys[Int(last)] == key { return last }
    var number = UInt32(keys.count)
    if let known = numbers[key] {
      number = known
    } else {
      keys.append(key)
      numbers[key] = number
    }
    newest[Int(key.site)] = number
    return number
  }

  /// The number of the same thread and generation at another site.
  mutating func number(_ slot: Int, movedTo site: UInt32) -> UInt32 {
    var key = keys[slot]
    key.site = site
    return number(key)
  }
}
