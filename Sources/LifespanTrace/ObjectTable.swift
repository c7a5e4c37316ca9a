// A table of what lives, by position of the birth: pages that are given back when all in them are dead.
// Used by EventDecoder for addresses and by every question of LifespanAnalysis.

/// One value for each living object. Access costs two loads; memory is what lives, rounded up to pages of 1,024 objects,
/// and 8 bytes a page ever begun.
///
/// Values are set for births in order and read by any event; `remove` when an object is gone. An object that was removed,
/// never set, or is unknown (negative) has no value.
public final class ObjectTable<Value: BitwiseCopyable> {
  @inlinable static var pageBits: Int { 10 }
  @inlinable static var pageSize: Int { 1 << pageBits }
  @usableFromInline var pages: UnsafeMutablePointer<UnsafeMutablePointer<Value>?>
  @usableFromInline var living: UnsafeMutablePointer<UInt16>
  @usableFromInline var capacity = 64
  @usableFromInline var free: [UnsafeMutablePointer<Value>] = []
  @usableFromInline let empty: Value

  /// `empty` stands for no value: what is read where nothing lives. Setting it is not allowed, removing is `remove`.
  @inlinable
  public init(empty: Value) {
    self.empty = empty
    pages = .allocate(capacity: capacity)
    pages.initialize(repeating: nil, count: capacity)
    living = .allocate(capacity: capacity)
    living.initialize(repeating: 0, count: capacity)
  }

  @inlinable
  deinit {
    for index in 0..<capacity { pages[index]?.deallocate() }
    for page in free { page.deallocate() }
    pages.deallocate()
    living.deallocate()
  }

  /// The value's place; nil where the object's page is gone or the object is unknown. Holds `empty` after `remove`.
  @inlinable @inline(__always)
  public func place(_ object: Int) -> UnsafeMutablePointer<Value>? {
    let page = object &>> Self.pageBits
    guard object >= 0, page < capacity, let values = pages[page] else { return nil }
    return values + (object & (Self.pageSize &- 1))
  }

  /// Sets the value of an object that has none.
  @inlinable @inline(__always)
  public func insert(_ object: Int, _ value: Value) {
    let page = object &>> Self.pageBits
    let values: UnsafeMutablePointer<Value>
    if page < capacity, let known = pages[page] { values = known } else { values = begin(page) }
    values[object & (Self.pageSize &- 1)] = value
    living[page] &+= 1
  }

  /// Takes an object's value away. Only for objects that have one.
  @inlinable @inline(__always)
  public func remove(_ object: Int) {
    let page = object &>> Self.pageBits
    guard page < capacity, let values = pages[page] else { return }
    values[object & (Self.pageSize &- 1)] = empty
    living[page] &-= 1
    // The newest page stays: births go on there, and a pair of birth and death must not give it back each time.
    if living[page] == 0 && page < newest { giveBack(page, values) }
  }

  @usableFromInline var newest = 0

  @inlinable
  func begin(_ page: Int) -> UnsafeMutablePointer<Value> {
    if page >= capacity { grow(page) }
    if page > newest {
      // What was the newest page may have died out meanwhile.
      if living[newest] == 0, let values = pages[newest] { giveBack(newest, values) }
      newest = page
    }
    let values = free.popLast() ?? .allocate(capacity: Self.pageSize)
    values.initialize(repeating: empty, count: Self.pageSize)
    pages[page] = values
    return values
  }

  @inlinable
  func giveBack(_ page: Int, _ values: UnsafeMutablePointer<Value>) {
    pages[page] = nil
    if free.count < 64 { free.append(values) } else { values.deallocate() }
  }

  @inlinable
  func grow(_ page: Int) {
    let larger = max(capacity * 2, page + 1)
    let newPages = UnsafeMutablePointer<UnsafeMutablePointer<Value>?>.allocate(capacity: larger)
    newPages.initialize(from: pages, count: capacity)
    (newPages + capacity).initialize(repeating: nil, count: larger - capacity)
    let newLiving = UnsafeMutablePointer<UInt16>.allocate(capacity: larger)
    newLiving.initialize(from: living, count: capacity)
    (newLiving + capacity).initialize(repeating: 0, count: larger - capacity)
    pages.deallocate()
    living.deallocate()
    pages = newPages
    living = newLiving
    capacity = larger
  }

  /// Every object with a place, in the order of births; `empty` ones too.
  @inlinable
  public func forEach(_ use: (Int, UnsafeMutablePointer<Value>) -> Void) {
    for page in 0..<capacity {
      guard let values = pages[page] else { continue }
      for index in 0..<Self.pageSize { use(page << Self.pageBits | index, values + index) }
    }
  }
}
