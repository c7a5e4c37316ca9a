// A table of what lives, by position of the birth: pages that are given back when all in them are dead.
// Used by EventDecoder for addresses and by every question of LifespanAnalysis.

/// One value for each living object. Access costs two loads; memory is what lives, rounded up to pages of 1,024 objects,
/// and 10 bytes a page ever begun.
///
/// Values are set for births in order and read by any event; `remove` when an object is gone. An object that was removed,
/// never set, or is unknown (negative) has no value.
public final class ObjectTable<Value: BitwiseCopyable> {
  /// Behind a constant pointer, as a class's own variables would be checked for exclusive access at every event.
  @usableFromInline
  struct State {
    @usableFromInline var pages: UnsafeMutablePointer<UnsafeMutablePointer<Value>?>
    @usableFromInline var living: UnsafeMutablePointer<UInt16>
    @usableFromInline var capacity: Int
    @usableFromInline var newest = 0
    @usableFromInline var free: [UnsafeMutablePointer<Value>] = []

    @inlinable
    init(capacity: Int) {
      self.capacity = capacity
      pages = .allocate(capacity: capacity)
      pages.initialize(repeating: nil, count: capacity)
      living = .allocate(capacity: capacity)
      living.initialize(repeating: 0, count: capacity)
    }
  }

  @inlinable static var pageBits: Int { 10 }
  @inlinable static var pageSize: Int { 1 << pageBits }
  @usableFromInline let state: UnsafeMutablePointer<State>
  @usableFromInline let empty: Value

  /// `empty` stands for no value: what is read where nothing lives. Setting it is not allowed, removing is `remove`.
  @inlinable
  public init(empty: Value) {
    self.empty = empty
    state = .allocate(capacity: 1)
    state.initialize(to: State(capacity: 64))
  }

  @inlinable
  deinit {
    for index in 0..<state.pointee.capacity { state.pointee.pages[index]?.deallocate() }
    for page in state.pointee.free { page.deallocate() }
    state.pointee.pages.deallocate()
    state.pointee.living.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// The value's place; nil where the object's page is gone or the object is unknown. Holds `empty` after `remove`.
  @inlinable @inline(__always)
  public func place(_ object: Int) -> UnsafeMutablePointer<Value>? {
    let page = object &>> Self.pageBits
    guard object >= 0, page < state.pointee.capacity, let values = state.pointee.pages[page] else { return nil }
    return values + (object & (Self.pageSize &- 1))
  }

  /// Sets the value of an object that has none.
  @inlinable @inline(__always)
  public func insert(_ object: Int, _ value: Value) {
    let page = object &>> Self.pageBits
    let values: UnsafeMutablePointer<Value>
    if page < state.pointee.capacity, let known = state.pointee.pages[page] {
      values = known
    } else {
      values = begin(page)
    }
    values[object & (Self.pageSize &- 1)] = value
    state.pointee.living[page] &+= 1
  }

  /// Takes an object's value away. Only for objects that have one.
  @inlinable @inline(__always)
  public func remove(_ object: Int) {
    let page = object &>> Self.pageBits
    guard page < state.pointee.capacity, let values = state.pointee.pages[page] else { return }
    values[object & (Self.pageSize &- 1)] = empty
    let left = state.pointee.living[page] &- 1
    state.pointee.living[page] = left
    // The newest page stays: births go on there, and a pair of birth and death must not give it back each time.
    if left == 0 && page < state.pointee.newest { giveBack(page, values) }
  }

  @inlinable @inline(never)
  func begin(_ page: Int) -> UnsafeMutablePointer<Value> {
    if page >= state.pointee.capacity { grow(page) }
    let newest = state.pointee.newest
    if page > newest {
      // What was the newest page may have died out meanwhile.
      if state.pointee.living[newest] == 0, let values = state.pointee.pages[newest] { giveBack(newest, values) }
      state.pointee.newest = page
    }
    let values = state.pointee.free.popLast() ?? .allocate(capacity: Self.pageSize)
    values.initialize(repeating: empty, count: Self.pageSize)
    state.pointee.pages[page] = values
    return values
  }

  @inlinable @inline(never)
  func giveBack(_ page: Int, _ values: UnsafeMutablePointer<Value>) {
    state.pointee.pages[page] = nil
    if state.pointee.free.count < 64 { state.pointee.free.append(values) } else { values.deallocate() }
  }

  @inlinable @inline(never)
  func grow(_ page: Int) {
    let old = state.pointee
    var new = State(capacity: max(old.capacity * 2, page + 1))
    new.pages.update(from: old.pages, count: old.capacity)
    new.living.update(from: old.living, count: old.capacity)
    new.newest = old.newest
    new.free = old.free
    old.pages.deallocate()
    old.living.deallocate()
    state.pointee = new
  }

  /// Every object with a place, in the order of births, `empty` ones too; each page is given back behind it, so that the
  /// table is empty afterwards.
  @inlinable
  public func drain(_ use: (Int, Value) -> Void) {
    for page in 0..<state.pointee.capacity {
      guard let values = state.pointee.pages[page] else { continue }
      for index in 0..<Self.pageSize { use(page << Self.pageBits | index, values[index]) }
      state.pointee.pages[page] = nil
      state.pointee.living[page] = 0
      values.deallocate()
    }
  }

  /// Every object with a place, in the order of births; `empty` ones too.
  @inlinable
  public func forEach(_ use: (Int, UnsafeMutablePointer<Value>) -> Void) {
    for page in 0..<state.pointee.capacity {
      guard let values = state.pointee.pages[page] else { continue }
      for index in 0..<Self.pageSize { use(page << Self.pageBits | index, values + index) }
    }
  }
}
