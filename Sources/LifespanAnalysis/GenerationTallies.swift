// What the objects of each generation came to, by row. Used by GenerationsQuestion.
import LifespanTrace

/// Counts by generation and row: open addressing, at most half full. Only what occurs takes memory, 56 bytes.
final class GenerationTallies {
  /// The counts of one row's share of a generation.
  struct Counts {
    // Generation and row + 1; 0: a free slot.
    fileprivate var key: UInt64 = 0
    var persistentCount = 0
    var persistentBytes: Int64 = 0
    var transientCount = 0
    var transientBytes: Int64 = 0
    var keptCount = 0
    var keptBytes: Int64 = 0

    var generation: UInt32 { UInt32(truncatingIfNeeded: key &>> 32) }
    var row: Int { Int(key & 0xffff_ffff) - 1 }
    var tally: Tally {
      Tally(
        persistentCount: persistentCount, persistentBytes: ByteCount(persistentBytes), transientCount: transientCount,
        transientBytes: ByteCount(transientBytes), keptCount: keptCount, keptBytes: ByteCount(keptBytes))
    }
  }

  /// Behind a constant pointer, as a class's own variables would be checked for exclusive access at every event.
  private struct State {
    var slots: UnsafeMutablePointer<Counts>
    var mask: Int
    var count = 0
    // The one that was asked for last: rows come in rows.
    var newest: UnsafeMutablePointer<Counts>
  }

  private let state: UnsafeMutablePointer<State>

  init() {
    state = .allocate(capacity: 1)
    state.initialize(to: GenerationTallies.empty(256))
  }

  deinit {
    state.pointee.slots.deallocate()
    state.deallocate()
  }

  private static func empty(_ slots: Int) -> State {
    let memory = UnsafeMutablePointer<Counts>.allocate(capacity: slots)
    memory.initialize(repeating: Counts(), count: slots)
    return State(slots: memory, mask: slots - 1, newest: memory)
  }

  /// The counts to add to, until another one is asked for.
  @inline(__always)
  func of(_ generation: UInt32, _ row: Int) -> UnsafeMutablePointer<Counts> {
    let key = UInt64(generation) &<< 32 | UInt64(truncatingIfNeeded: row &+ 1)
    if state.pointee.newest.pointee.key == key { return state.pointee.newest }
    return find(key)
  }

  private func find(_ key: UInt64) -> UnsafeMutablePointer<Counts> {
    var found = slot(key)
    if found.pointee.key == 0 {
      if (state.pointee.count &+ 1) &* 2 > state.pointee.mask {
        grow()
        found = slot(key)
      }
      found.pointee.key = key
      state.pointee.count &+= 1
    }
    state.pointee.newest = found
    return found
  }

  private func slot(_ key: UInt64) -> UnsafeMutablePointer<Counts> {
    let mask = state.pointee.mask
    let slots = state.pointee.slots
    // Fibonacci hashing: rows and generations are small numbers in a row.
    var at = Int(truncatingIfNeeded: (key &* 0x9e37_79b9_7f4a_7c15) &>> 24) & mask
    while slots[at].key != key && slots[at].key != 0 { at = (at &+ 1) & mask }
    return slots + at
  }

  private func grow() {
    let old = state.pointee
    state.pointee = GenerationTallies.empty((old.mask + 1) * 2)
    state.pointee.count = old.count
    for at in 0...old.mask where old.slots[at].key != 0 { slot(old.slots[at].key).pointee = old.slots[at] }
    state.pointee.newest = state.pointee.slots
    old.slots.deallocate()
  }

  /// All of them, in no order.
  func forEach(_ use: (Counts) -> Void) {
    for at in 0...state.pointee.mask where state.pointee.slots[at].key != 0 { use(state.pointee.slots[at]) }
  }
}
