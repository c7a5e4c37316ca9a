// Values of the few objects that outlive their neighbours: what ObjectTable keeps of a page that is almost dead.
// Used by ObjectTable alone.

/// Values by object number: open addressing with backward-shift deletion, at most half full, at least an eighth.
@usableFromInline
struct StragglerTable<Value: BitwiseCopyable> {
  /// Object numbers, −1 where a slot is free.
  @usableFromInline var keys: UnsafeMutablePointer<Int>
  @usableFromInline var values: UnsafeMutablePointer<Value>
  @usableFromInline var mask: Int
  /// Values in it.
  @usableFromInline var count = 0

  @inlinable static var least: Int { 64 }

  @inlinable
  init(slots: Int = 64) {
    mask = slots - 1
    keys = .allocate(capacity: slots)
    keys.initialize(repeating: -1, count: slots)
    values = .allocate(capacity: slots)
  }

  /// Gives the memory back.
  @inlinable
  func deallocate() {
    keys.deallocate()
    values.deallocate()
  }

  @inlinable
  func home(_ object: Int) -> Int {
    // Fibonacci hashing: object numbers come in rows.
    Int(truncatingIfNeeded: (UInt64(truncatingIfNeeded: object) &* 0x9e37_79b9_7f4a_7c15) &>> 20) & mask
  }

  /// The slot of an object, or the free one where it would stand.
  @inlinable
  func slot(_ object: Int) -> Int {
    var at = home(object)
    while keys[at] != object && keys[at] >= 0 { at = (at &+ 1) & mask }
    return at
  }

  /// The place of an object's value; nil where it has none. Moves with the next change.
  @inlinable
  func place(_ object: Int) -> UnsafeMutablePointer<Value>? {
    let at = slot(object)
    return keys[at] == object ? values + at : nil
  }

  /// Adds an object that is not in it.
  @inlinable
  mutating func insert(_ object: Int, _ value: Value) {
    if (count &+ 1) &* 2 > mask &+ 1 { resize(to: (mask &+ 1) &* 2) }
    let at = slot(object)
    keys[at] = object
    values[at] = value
    count &+= 1
  }

  /// Takes an object out that may be in it.
  @inlinable
  mutating func remove(_ object: Int) {
    var hole = slot(object)
    guard keys[hole] == object else { return }
    var at = (hole &+ 1) & mask
    while keys[at] >= 0 {
      // What stands here may fill the hole when its home does not lie behind the hole.
      if (at &- home(keys[at])) & mask >= (at &- hole) & mask {
        keys[hole] = keys[at]
        values[hole] = values[at]
        hole = at
      }
      at = (at &+ 1) & mask
    }
    keys[hole] = -1
    count &-= 1
    if count &* 8 < mask &+ 1, mask >= Self.least { resize(to: (mask &+ 1) / 2) }
  }

  @inlinable @inline(never)
  mutating func resize(to slots: Int) {
    var other = StragglerTable(slots: slots)
    for at in 0...mask where keys[at] >= 0 {
      let to = other.slot(keys[at])
      other.keys[to] = keys[at]
      other.values[to] = values[at]
    }
    other.count = count
    deallocate()
    self = other
  }

  /// The objects in it, in order.
  @inlinable
  var objects: [Int] { (0...mask).lazy.map { keys[$0] }.filter { $0 >= 0 }.sorted() }
}
