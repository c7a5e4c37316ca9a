// The memory behind EventBatch: one block, all columns. Owned by EventDecoder.

/// The memory of one batch's columns.
final class EventBuffers {
  let objects: UnsafeMutablePointer<Int>
  let times: UnsafeMutablePointer<Int64>
  let tasks: UnsafeMutablePointer<UInt64>
  let addresses: UnsafeMutablePointer<UInt64>
  let serials: UnsafeMutablePointer<UInt64>
  let moveDeltas: UnsafeMutablePointer<Int64>
  let amounts: UnsafeMutablePointer<EventAmount>
  let sites: UnsafeMutablePointer<UInt32>
  let threads: UnsafeMutablePointer<UInt32>
  let generations: UnsafeMutablePointer<UInt32>
  let stacks: UnsafeMutablePointer<UInt32>
  /// For batches that outlive their chunk.
  let kinds: UnsafeMutablePointer<UInt8>
  private let block: UnsafeMutableRawPointer

  init() {
    let count = EventBatch.capacity
    // Six columns of 8 bytes, four of 4, one of 1, and the amounts.
    let size = count * (6 * 8 + 4 * 4 + 1 + MemoryLayout<EventAmount>.stride)
    let block = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 64)
    block.initializeMemory(as: UInt8.self, repeating: 0, count: size)
    var offset = 0
    func column<Value: BitwiseCopyable>(_ type: Value.Type) -> UnsafeMutablePointer<Value> {
      defer { offset += count * MemoryLayout<Value>.stride }
      return (block + offset).bindMemory(to: type, capacity: count)
    }
    objects = column(Int.self)
    times = column(Int64.self)
    tasks = column(UInt64.self)
    addresses = column(UInt64.self)
    serials = column(UInt64.self)
    moveDeltas = column(Int64.self)
    amounts = column(EventAmount.self)
    sites = column(UInt32.self)
    threads = column(UInt32.self)
    generations = column(UInt32.self)
    stacks = column(UInt32.self)
    kinds = column(UInt8.self)
    self.block = block
  }

  deinit { block.deallocate() }

  /// An empty batch over this memory.
  var batch: EventBatch {
    EventBatch(
      kinds: UnsafePointer(block.assumingMemoryBound(to: UInt8.self)), objects: UnsafePointer(objects),
      sites: UnsafePointer(sites), times: UnsafePointer(times), threads: UnsafePointer(threads),
      tasks: UnsafePointer(tasks), generations: UnsafePointer(generations), addresses: UnsafePointer(addresses),
      stacks: UnsafePointer(stacks), amounts: UnsafePointer(amounts), serials: UnsafePointer(serials))
  }
}
