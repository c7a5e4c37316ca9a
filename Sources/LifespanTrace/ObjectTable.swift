// A table of what lives, by position of the birth: pages that are given back when almost all in them are dead.
// Used by EventDecoder for addresses and by every question of LifespanAnalysis.

/// One value for each living object. Access costs two loads. Memory follows what lives: the newest 64 pages of 1,024
/// objects; older pages while more than an eighth of their objects live; of the rest single values, at most four times
/// their size and 64 bytes. And 10 bytes for each page ever begun: 1 MB for 100 million births.
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
    // What is left of pages that were given up with a few still living.
    @usableFromInline var stragglers = StragglerTable<Value>()

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
  /// So many of the newest pages stay as they are: most objects die young, and looking a single one up costs more.
  @inlinable static var youngPages: Int { 64 }
  /// An older page with so many living objects or fewer is given up.
  @inlinable static var few: UInt16 { 128 }
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
    state.pointee.stragglers.deallocate()
    state.pointee.pages.deallocate()
    state.pointee.living.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// The value's place, until the next change; nil where the object's page is gone or the object is unknown. Holds `empty`
  /// after `remove`.
  @inlinable @inline(__always)
  public func place(_ object: Int) -> UnsafeMutablePointer<Value>? {
    let page = object &>> Self.pageBits
    guard object >= 0, page < state.pointee.capacity else { return nil }
    guard let values = state.pointee.pages[page] else {
      return state.pointee.stragglers.count == 0 ? nil : straggler(object)
    }
    return values + (object & (Self.pageSize &- 1))
  }

  @inlinable @inline(never)
  func straggler(_ object: Int) -> UnsafeMutablePointer<Value>? { state.pointee.stragglers.place(object) }

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
    guard page < state.pointee.capacity else { return }
    guard let values = state.pointee.pages[page] else {
      if state.pointee.stragglers.count > 0 { removeStraggler(object) }
      return
    }
    values[object & (Self.pageSize &- 1)] = empty
    let left = state.pointee.living[page] &- 1
    state.pointee.living[page] = left
    // The newest page stays: births go on there, and a pair of birth and death must not give it back each time.
    if left <= Self.few, page < state.pointee.newest, left == 0 || isOld(page) { giveUp(page, values) }
  }

  @inlinable @inline(never)
  func removeStraggler(_ object: Int) { state.pointee.stragglers.remove(object) }

  @inlinable @inline(__always)
  func isOld(_ page: Int) -> Bool { page &+ Self.youngPages < state.pointee.newest }

  @inlinable @inline(never)
  func begin(_ page: Int) -> UnsafeMutablePointer<Value> {
    if page >= state.pointee.capacity { grow(page) }
    let newest = state.pointee.newest
    if page > newest {
      // What was the newest page may have died out meanwhile.
      if state.pointee.living[newest] == 0, let values = state.pointee.pages[newest] { giveUp(newest, values) }
      state.pointee.newest = page
      // Pages grow old as others begin. With some left out (nothing of them is followed) it is a few at a time.
      for old in max(0, newest - Self.youngPages)..<max(0, page - Self.youngPages) {
        if state.pointee.living[old] <= Self.few, let values = state.pointee.pages[old] { giveUp(old, values) }
      }
    }
    let values = state.pointee.free.popLast() ?? .allocate(capacity: Self.pageSize)
    values.initialize(repeating: empty, count: Self.pageSize)
    state.pointee.pages[page] = values
    return values
  }

  @inlinable @inline(never)
  func giveUp(_ page: Int, _ values: UnsafeMutablePointer<Value>) {
    state.pointee.pages[page] = nil
    if state.pointee.living[page] > 0 {
      for index in 0..<Self.pageSize where !isEmpty(values + index) {
        state.pointee.stragglers.insert(page << Self.pageBits | index, values[index])
      }
      state.pointee.living[page] = 0
    }
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
    new.stragglers.deallocate()
    new.stragglers = old.stragglers
    old.pages.deallocate()
    old.living.deallocate()
    state.pointee = new
  }

  /// Whether a place holds what `remove` leaves. Byte by byte: a value says nothing of itself.
  @inlinable
  func isEmpty(_ place: UnsafeMutablePointer<Value>) -> Bool {
    withUnsafeBytes(of: empty) { empty in
      let bytes = UnsafeRawPointer(place)
      var at = 0
      while at &+ 8 <= empty.count {
        guard
          empty.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            == bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
        else { return false }
        at &+= 8
      }
      while at < empty.count {
        guard empty[at] == bytes.load(fromByteOffset: at, as: UInt8.self) else { return false }
        at &+= 1
      }
      return true
    }
  }

  /// Bytes of memory that it holds.
  public var memory: Int {
    let pages = (0..<state.pointee.capacity).count { state.pointee.pages[$0] != nil } + state.pointee.free.count
    return pages * Self.pageSize * MemoryLayout<Value>.stride
      + state.pointee.capacity * (MemoryLayout<Int>.size + MemoryLayout<UInt16>.size)
      + (state.pointee.stragglers.mask + 1) * (MemoryLayout<Int>.size + MemoryLayout<Value>.stride)
  }

  /// Every object with a place, in the order of births, `empty` ones too; each page is given back behind it, so that the
  /// table is empty afterwards.
  @inlinable
  public func drain(_ use: (Int, Value) -> Void) {
    forEachPlace { object, place in
      use(object, place.pointee)
    } behind: { page, values in
      state.pointee.pages[page] = nil
      state.pointee.living[page] = 0
      values.deallocate()
    }
    state.pointee.stragglers.deallocate()
    state.pointee.stragglers = StragglerTable()
  }

  /// Every object with a place, in the order of births; `empty` ones too.
  @inlinable
  public func forEach(_ use: (Int, UnsafeMutablePointer<Value>) -> Void) {
    forEachPlace(use) { _, _ in }
  }

  @inlinable
  func forEachPlace(
    _ use: (Int, UnsafeMutablePointer<Value>) -> Void, behind: (Int, UnsafeMutablePointer<Value>) -> Void
  ) {
    let single = state.pointee.stragglers.objects
    var next = 0
    for page in 0..<state.pointee.capacity {
      while next < single.count, single[next] >> Self.pageBits <= page {
        if let place = straggler(single[next]) { use(single[next], place) }
        next += 1
      }
      guard let values = state.pointee.pages[page] else { continue }
      for index in 0..<Self.pageSize { use(page << Self.pageBits | index, values + index) }
      behind(page, values)
    }
  }
}
