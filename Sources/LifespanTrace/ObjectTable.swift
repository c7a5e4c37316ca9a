// A table of what lives, by position of the birth: the newest objects in a ring, of older ones pages that are given back when
// almost all in them are dead. Used by EventDecoder for addresses and by every question of LifespanAnalysis.

/// One value for each living object. Memory follows what lives: a ring of the newest 65,536 objects; pages of 1,024 older ones
/// while more than an eighth of their objects live; of the rest single values, at most four times their size and 64 bytes.
/// And 10 bytes for each page ever begun: 1 MB for 100 million births.
///
/// Most objects die young: in the ring an access is a compare and a load, nothing is counted, and a page's dead are never
/// looked at again. What still lives when its page falls out of the ring moves to a page or to the single values.
///
/// Values are set for births in order and read by any event; `remove` when an object is gone. An object that was removed,
/// never set, or is unknown (negative) has no value.
public final class ObjectTable<Value: BitwiseCopyable> {
  /// The newest objects. Loops over many events keep a copy in registers, good until `insert` begins a page.
  public struct Young {
    // By the low bits of the object.
    @usableFromInline let values: UnsafeMutablePointer<Value>
    // The first object in it, and the first one behind it. Multiples of the page size.
    @usableFromInline var start = 0
    @usableFromInline var end = 0

    @inlinable
    init(_ values: UnsafeMutablePointer<Value>) { self.values = values }

    /// Whether it has a place for the object. False of an unknown one.
    @inlinable @inline(__always)
    public func holds(_ object: Int) -> Bool { UInt(bitPattern: object &- start) < UInt(bitPattern: end &- start) }

    /// The place of an object that it holds.
    @inlinable @inline(__always)
    public func place(_ object: Int) -> UnsafeMutablePointer<Value> {
      values + (object & (ObjectTable.ringSize &- 1))
    }
  }

  /// Behind a constant pointer, as a class's own variables would be checked for exclusive access at every event.
  @usableFromInline
  struct State {
    @usableFromInline var young: Young
    @usableFromInline var pages: UnsafeMutablePointer<UnsafeMutablePointer<Value>?>
    @usableFromInline var living: UnsafeMutablePointer<UInt16>
    @usableFromInline var capacity: Int
    @usableFromInline var free: [UnsafeMutablePointer<Value>] = []
    // What is left of pages that were given up with a few still living.
    @usableFromInline var stragglers = StragglerTable<Value>()

    @inlinable
    init(_ young: Young, capacity: Int) {
      self.young = young
      self.capacity = capacity
      pages = .allocate(capacity: capacity)
      pages.initialize(repeating: nil, count: capacity)
      living = .allocate(capacity: capacity)
      living.initialize(repeating: 0, count: capacity)
    }
  }

  @inlinable static var pageBits: Int { 10 }
  @inlinable static var pageSize: Int { 1 << pageBits }
  /// So many of the newest objects are in the ring: 64 pages.
  @inlinable static var ringSize: Int { 64 << pageBits }
  /// An older page with so many living objects or fewer is given up.
  @inlinable static var few: UInt16 { 128 }
  @usableFromInline let state: UnsafeMutablePointer<State>
  @usableFromInline let empty: Value

  /// `empty` stands for no value: what is read where nothing lives. Setting it is not allowed, removing is `remove`.
  @inlinable
  public init(empty: Value) {
    self.empty = empty
    state = .allocate(capacity: 1)
    // Initialised page by page: what a small recording never reaches is never touched.
    state.initialize(to: State(Young(.allocate(capacity: Self.ringSize)), capacity: 64))
  }

  @inlinable
  deinit {
    for index in 0..<state.pointee.capacity { state.pointee.pages[index]?.deallocate() }
    for page in state.pointee.free { page.deallocate() }
    state.pointee.stragglers.deallocate()
    state.pointee.pages.deallocate()
    state.pointee.living.deallocate()
    state.pointee.young.values.deallocate()
    state.deinitialize(count: 1)
    state.deallocate()
  }

  /// The newest objects, to be kept by a loop over many events until it inserts outside of them.
  @inlinable @inline(__always)
  public var young: Young { state.pointee.young }

  /// The value's place, until the next change; nil where the object's page is gone or the object is unknown. Holds `empty`
  /// after `remove`.
  @inlinable @inline(__always)
  public func place(_ object: Int) -> UnsafeMutablePointer<Value>? {
    let young = state.pointee.young
    return young.holds(object) ? young.place(object) : old(object)
  }

  @inlinable @inline(never)
  func old(_ object: Int) -> UnsafeMutablePointer<Value>? {
    guard object >= 0, object < state.pointee.young.start else { return nil }
    guard let values = state.pointee.pages[object &>> Self.pageBits] else {
      return state.pointee.stragglers.count == 0 ? nil : state.pointee.stragglers.place(object)
    }
    return values + (object & (Self.pageSize &- 1))
  }

  /// Sets the value of an object that has none.
  @inlinable @inline(__always)
  public func insert(_ object: Int, _ value: Value) {
    if object >= state.pointee.young.end { begin(object &>> Self.pageBits) }
    state.pointee.young.place(object).pointee = value
  }

  /// Takes an object's value away. Only for objects that have one.
  @inlinable @inline(__always)
  public func remove(_ object: Int) {
    let young = state.pointee.young
    if young.holds(object) { young.place(object).pointee = empty } else { removeOld(object) }
  }

  @inlinable @inline(never)
  func removeOld(_ object: Int) {
    guard object >= 0, object < state.pointee.young.start else { return }
    let page = object &>> Self.pageBits
    guard let values = state.pointee.pages[page] else {
      if state.pointee.stragglers.count > 0 { state.pointee.stragglers.remove(object) }
      return
    }
    values[object & (Self.pageSize &- 1)] = empty
    state.pointee.living[page] &-= 1
    guard state.pointee.living[page] <= Self.few else { return }
    straggle(page, values)
    state.pointee.pages[page] = nil
    if state.pointee.free.count < 64 { state.pointee.free.append(values) } else { values.deallocate() }
  }

  /// Makes room in the ring up to a page; what falls out and lives goes to the older ones.
  @inlinable @inline(never)
  func begin(_ page: Int) {
    let young = state.pointee.young
    let end = (page &+ 1) &<< Self.pageBits
    let start = max(young.start, end &- Self.ringSize)
    if start > 0, (start &- 1) &>> Self.pageBits >= state.pointee.capacity { grow((start &- 1) &>> Self.pageBits) }
    var at = young.start
    while at < min(start, young.end) {
      retire(at &>> Self.pageBits, young.place(at))
      at &+= Self.pageSize
    }
    // With objects left out, of which nothing is followed, it may be several pages.
    at = max(young.end, start)
    while at < end {
      young.place(at).initialize(repeating: empty, count: Self.pageSize)
      at &+= Self.pageSize
    }
    state.pointee.young.start = start
    state.pointee.young.end = end
  }

  /// Keeps of a page that falls out of the ring what lives.
  @inlinable
  func retire(_ page: Int, _ values: UnsafeMutablePointer<Value>) {
    var living: UInt16 = 0
    for index in 0..<Self.pageSize { living &+= isEmpty(values + index) ? 0 : 1 }
    guard living > Self.few else {
      if living > 0 { straggle(page, values) }
      return
    }
    let kept = state.pointee.free.popLast() ?? .allocate(capacity: Self.pageSize)
    kept.initialize(from: values, count: Self.pageSize)
    state.pointee.pages[page] = kept
    state.pointee.living[page] = living
  }

  /// Keeps the few that live in a page as single values.
  @inlinable
  func straggle(_ page: Int, _ values: UnsafeMutablePointer<Value>) {
    for index in 0..<Self.pageSize where !isEmpty(values + index) {
      state.pointee.stragglers.insert(page << Self.pageBits | index, values[index])
    }
    state.pointee.living[page] = 0
  }

  @inlinable @inline(never)
  func grow(_ page: Int) {
    let old = state.pointee
    var new = State(old.young, capacity: max(old.capacity * 2, page + 1))
    new.pages.update(from: old.pages, count: old.capacity)
    new.living.update(from: old.living, count: old.capacity)
    new.free = old.free
    new.stragglers.deallocate()
    new.stragglers = old.stragglers
    old.pages.deallocate()
    old.living.deallocate()
    state.pointee = new
  }

  /// Whether a place holds what `remove` leaves. Byte by byte: a value says nothing of itself.
  @inlinable @inline(__always)
  func isEmpty(_ place: UnsafeMutablePointer<Value>) -> Bool {
    withUnsafeBytes(of: empty) { empty in
      let bytes = UnsafeRawPointer(place)
      var differs: UInt64 = 0
      var at = 0
      while at &+ 8 <= MemoryLayout<Value>.size {
        differs |=
          empty.loadUnaligned(fromByteOffset: at, as: UInt64.self)
          ^ bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
        at &+= 8
      }
      if at &+ 4 <= MemoryLayout<Value>.size {
        differs |= UInt64(
          empty.loadUnaligned(fromByteOffset: at, as: UInt32.self)
            ^ bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
        at &+= 4
      }
      while at < MemoryLayout<Value>.size {
        differs |= UInt64(empty[at] ^ bytes.load(fromByteOffset: at, as: UInt8.self))
        at &+= 1
      }
      return differs == 0
    }
  }

  /// Bytes of memory that it holds.
  public var memory: Int {
    let pages = (0..<state.pointee.capacity).count { state.pointee.pages[$0] != nil } + state.pointee.free.count
    return (pages * Self.pageSize + min(state.pointee.young.end, Self.ringSize)) * MemoryLayout<Value>.stride
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
    state.pointee.young.start = state.pointee.young.end
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
        if let place = state.pointee.stragglers.place(single[next]) { use(single[next], place) }
        next += 1
      }
      guard let values = state.pointee.pages[page] else { continue }
      for index in 0..<Self.pageSize { use(page << Self.pageBits | index, values + index) }
      behind(page, values)
    }
    let young = state.pointee.young
    for object in young.start..<young.end { use(object, young.place(object)) }
  }
}
