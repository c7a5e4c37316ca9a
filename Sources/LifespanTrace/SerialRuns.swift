// Serials as positions: where births were discarded, serials have holes; tables by position have none.
// Used by EventDecoder alone.

/// Maps a serial to its birth's position in the file. A file without discarded births is one run, found at once.
struct SerialRuns {
  /// The position of a serial that falls into a hole.
  static let missing = -2
  private var serials: [UInt64] = []
  private var positions: [Int] = []
  /// The serial of the newest birth so far, whether it is in the file or not.
  private(set) var newest: UInt64 = 0
  /// Births so far.
  private(set) var births = 0
  private var lastSerial: UInt64 = 1
  private var lastPosition = 0

  /// Serials up to this one were given to births that are not in the file.
  mutating func skip(to serial: UInt64) { newest = serial }

  /// Counts one more birth with the next serial; its position.
  @inline(__always)
  mutating func birth() -> Int {
    newest &+= 1
    // Only the first birth of a run takes the slow way.
    if newest &- lastSerial != UInt64(truncatingIfNeeded: births &- lastPosition) || births == 0 { beginRun() }
    defer { births &+= 1 }
    return births
  }

  private mutating func beginRun() {
    lastSerial = newest
    lastPosition = births
    serials.append(newest)
    positions.append(births)
  }

  /// The position of a birth, −2 where it is not in the file.
  @inline(__always)
  func position(of serial: UInt64) -> Int {
    if serial >= lastSerial {
      let position = lastPosition &+ Int(truncatingIfNeeded: serial &- lastSerial)
      return position < births ? position : SerialRuns.missing
    }
    return search(serial)
  }

  private func search(_ serial: UInt64) -> Int {
    var low = 0
    var high = serials.count
    while low < high {
      let middle = (low + high) / 2
      if serials[middle] <= serial { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return SerialRuns.missing }
    let offset = serial - serials[low - 1]
    let end = low < positions.count ? positions[low] : births
    return offset < UInt64(end - positions[low - 1]) ? positions[low - 1] + Int(offset) : SerialRuns.missing
  }

  /// The serial of a birth by its position.
  func serial(at position: Int) -> UInt64 {
    if position >= lastPosition { return lastSerial &+ UInt64(position - lastPosition) }
    var low = 0
    var high = positions.count
    while low < high {
      let middle = (low + high) / 2
      if positions[middle] <= position { low = middle + 1 } else { high = middle }
    }
    return low > 0 ? serials[low - 1] + UInt64(position - positions[low - 1]) : 0
  }
}
