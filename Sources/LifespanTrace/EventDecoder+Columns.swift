// The columns of EVENTS that only some questions ask for.
import CTraceFormat

/// Equal values in a row: (length, value) pairs.
struct RunCursor {
  private var cursor: VarintCursor
  private var left: UInt64 = 0
  private var value: UInt64 = 0
  private(set) var failed = false

  init(_ bytes: UnsafeRawBufferPointer) { cursor = VarintCursor(bytes) }

  var isAtEnd: Bool { cursor.isAtEnd && left == 0 }

  @inline(__always)
  mutating func next() -> UInt64 {
    if left == 0 {
      left = cursor.varint()
      value = cursor.varint()
      guard left > 0, !cursor.failed else {
        failed = true
        left = 0
        return 0
      }
    }
    left &-= 1
    return value
  }
}

/// The cursors of one chunk's optional columns; nil where the chunk has none.
struct ChunkColumns {
  var threads: RunCursor?
  var times: VarintCursor?
  var addresses: VarintCursor?
  var unknown: VarintCursor?
  var stacks: VarintCursor?
  var amounts: VarintCursor?
  var tasks: RunCursor?
  var generations: VarintCursor?
  var moves: VarintCursor?
  var time: Int64 = 0
  var stack: Int64 = 0
  var exception: (offset: UInt64, generation: UInt32)?
  var exceptionOffset: UInt64 = 0
  /// Name of the first column that could not be decoded.
  private(set) var failed: String?

  init() {}

  init(_ columns: Columns, baseTime: Int64) {
    threads = columns[UInt8(LIFESPAN_COLUMN_THREADS.rawValue)].map { RunCursor($0) }
    times = columns[UInt8(LIFESPAN_COLUMN_TIMES.rawValue)].map { VarintCursor($0) }
    addresses = columns[UInt8(LIFESPAN_COLUMN_ADDRESSES.rawValue)].map { VarintCursor($0) }
    unknown = columns[UInt8(LIFESPAN_COLUMN_UNKNOWN.rawValue)].map { VarintCursor($0) }
    stacks = columns[UInt8(LIFESPAN_COLUMN_STACKS.rawValue)].map { VarintCursor($0) }
    amounts = columns[UInt8(LIFESPAN_COLUMN_AMOUNTS.rawValue)].map { VarintCursor($0) }
    tasks = columns[UInt8(LIFESPAN_COLUMN_TASKS.rawValue)].map { RunCursor($0) }
    generations = columns[UInt8(LIFESPAN_COLUMN_GENERATIONS.rawValue)].map { VarintCursor($0) }
    moves = columns[UInt8(LIFESPAN_COLUMN_MOVES.rawValue)].map { VarintCursor($0) }
    time = baseTime
    advanceException()
  }

  mutating func fail(_ name: String, if failed: Bool) {
    if failed && self.failed == nil { self.failed = name }
  }

  /// Reads the next pair of the generations column.
  mutating func advanceException() {
    exception = nil
    guard var cursor = generations, !cursor.isAtEnd else { return }
    let offset = exceptionOffset.addingReportingOverflow(cursor.varint())
    let generation = cursor.varint()
    generations = cursor
    exceptionOffset = offset.partialValue
    fail("generations", if: cursor.failed || offset.overflow || generation > UInt64(UInt32.max))
    exception = (exceptionOffset, UInt32(truncatingIfNeeded: generation))
  }

  /// Name of a decoded column that has bytes after its last event.
  func leftOver(_ wanted: EventColumns) -> String? {
    if wanted.contains(.times), times?.isAtEnd == false { return "times" }
    if wanted.contains(.threads), threads?.isAtEnd == false { return "threads" }
    if wanted.contains(.tasks), tasks?.isAtEnd == false { return "tasks" }
    if wanted.contains(.generations), exception != nil { return "generations" }
    if wanted.contains(.stacks), stacks?.isAtEnd == false { return "stacks" }
    if wanted.contains(.amounts), amounts?.isAtEnd == false { return "amounts" }
    if wanted.contains(.moves), moves?.isAtEnd == false { return "moves" }
    if wanted.contains(.addresses), addresses?.isAtEnd == false { return "addresses" }
    if wanted.contains(.addresses), unknown?.isAtEnd == false { return "unknown" }
    return nil
  }
}

extension EventDecoder {
  func decodeTimes(_ count: Int) {
    let times = buffers.times
    var time = chunk.time
    if var cursor = chunk.times {
      for index in 0..<count {
        time &+= cursor.zigzag()
        times[index] = time &* ticksPerUnit
      }
      chunk.times = cursor
      chunk.fail("times", if: cursor.failed)
    } else {
      for index in 0..<count { times[index] = time &* ticksPerUnit }
    }
    chunk.time = time
  }

  func decodeThreads(_ count: Int) {
    guard var cursor = chunk.threads else {
      buffers.threads.update(repeating: 0, count: count)
      return
    }
    for index in 0..<count {
      let thread = cursor.next()
      buffers.threads[index] = UInt32(truncatingIfNeeded: thread)
    }
    chunk.threads = cursor
    chunk.fail("threads", if: cursor.failed)
  }

  func decodeTasks(_ count: Int) {
    guard var cursor = chunk.tasks else {
      buffers.tasks.update(repeating: 0, count: count)
      return
    }
    for index in 0..<count { buffers.tasks[index] = cursor.next() }
    chunk.tasks = cursor
    chunk.fail("tasks", if: cursor.failed)
  }

  /// By position first, then the exceptions: births whose exact stamp says another generation.
  func decodeGenerations(_ count: Int) {
    let generations = buffers.generations
    var low = 0
    var high = boundaries.count
    while low < high {
      let middle = (low + high) / 2
      if boundaries[middle].firstEvent <= batch.firstIndex { low = middle + 1 } else { high = middle }
    }
    var current = low > 0 ? boundaries[low - 1].generation : 0
    var index = 0
    while index < count {
      var stop = count
      if low < boundaries.count, boundaries[low].firstEvent &- batch.firstIndex < UInt64(count) {
        stop = Int(boundaries[low].firstEvent &- batch.firstIndex)
      }
      while index < stop {
        generations[index] = current
        index += 1
      }
      if index < count {
        current = boundaries[low].generation
        low += 1
      }
    }
    while let exception = chunk.exception, exception.offset < UInt64(done + count), chunk.failed == nil {
      // An offset of an earlier batch can't be: offsets only grow.
      if exception.offset >= UInt64(done) { generations[Int(exception.offset) - done] = exception.generation }
      chunk.advanceException()
    }
  }

  func decodeStacks(_ count: Int) {
    var cursor = chunk.stacks ?? .empty
    let isMissing = chunk.stacks == nil
    var stack = chunk.stack
    let kinds = batch.kinds
    for index in 0..<count {
      let kind = kinds[index]
      if kind & UInt8(LIFESPAN_EVENT_HAS_STACK) != 0 && !isMissing {
        stack &+= cursor.zigzag()
        buffers.stacks[index] = UInt32(truncatingIfNeeded: stack)
      } else {
        buffers.stacks[index] = kind & 0x3f == 1 ? sites[Int(buffers.sites[index])].stack.rawValue : 0
      }
    }
    chunk.stack = stack
    guard !isMissing else { return }
    chunk.stacks = cursor
    chunk.fail("stacks", if: cursor.failed)
  }

  func decodeAmounts(_ count: Int) {
    let isMissing = chunk.amounts == nil
    var cursor = chunk.amounts ?? .empty
    let kinds = batch.kinds
    for index in 0..<count {
      let kind = kinds[index] & 0x3f
      // Most retains and releases change the count by one and know no more: the file says nothing of them.
      var amount = EventAmount(amount: kind == EventKind.retain.rawValue || kind == EventKind.release.rawValue ? 1 : 0)
      if kinds[index] & UInt8(LIFESPAN_EVENT_HAS_AMOUNT) != 0 && !isMissing {
        amount.flavour = UInt8(clamping: cursor.varint())
        amount.amount = UInt32(clamping: cursor.varint())
        let before = cursor.varint()
        amount.countBefore = before == 0 ? nil : UInt32(clamping: before &- 1)
      }
      buffers.amounts[index] = amount
    }
    guard !isMissing else { return }
    chunk.amounts = cursor
    chunk.fail("amounts", if: cursor.failed)
  }

  func decodeMoves(_ count: Int) {
    guard var cursor = chunk.moves else { return }
    let kinds = batch.kinds
    let objects = buffers.objects
    let siteCount = UInt64(sites.count)
    var good = true
    for index in 0..<count where kinds[index] & 0x3f == EventKind.moved.rawValue {
      buffers.moveDeltas[index] = cursor.zigzag()
      let site = cursor.varint()
      // A move of something unknown says nothing of its site.
      good = good && (site < siteCount || objects[index] < 0)
      buffers.sites[index] = site < siteCount ? UInt32(truncatingIfNeeded: site) : 0
    }
    chunk.moves = cursor
    chunk.fail("moves", if: cursor.failed || !good)
  }

  func decodeAddresses(_ count: Int) {
    var births = chunk.addresses ?? .empty
    var unknown = chunk.unknown ?? .empty
    let hasBirths = chunk.addresses != nil
    let hasUnknown = chunk.unknown != nil
    let objects = buffers.objects
    let kinds = batch.kinds
    let decoder = addresses
    var failed = false
    for index in 0..<count {
      let object = objects[index]
      let kind = kinds[index] & 0x3f
      let address: UInt64
      if kind == 1 {
        let known = hasBirths ? decoder.birth(object, site: buffers.sites[index], births.varint()) : 0
        failed = failed || known == nil
        address = known ?? 0
      } else if object == EventBatch.unknownObject {
        address = hasUnknown ? unknown.varint() : 0
      } else {
        address = decoder.event(object, kind: kind, moved: buffers.moveDeltas[index], site: buffers.sites[index])
      }
      buffers.addresses[index] = address
    }
    if hasBirths { chunk.addresses = births }
    if hasUnknown { chunk.unknown = unknown }
    chunk.fail("addresses", if: failed || (hasBirths && births.failed))
    chunk.fail("unknown", if: hasUnknown && unknown.failed)
  }
}
