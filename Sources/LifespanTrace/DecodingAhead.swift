// Decodes EVENTS chunks on a second thread, a few batches ahead of whoever takes them. Used by Trace for long recordings.
#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// The second thread and what goes between it and the first: at most two stored chunks there, at most eight batches back, so
/// that memory does not depend on the recording. It computes alone: the file is read by the first thread.
final class DecodingAhead {
  /// What comes back, in order.
  enum Output {
    /// Good until `next` is called again.
    case batch(EventBatch)
    /// All batches of a chunk have come.
    case chunkEnd
    /// The chunk can't be decoded, or not to its end.
    case failed(PayloadFailure)
  }

  private struct Job {
    var stored = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    var count = 0
    var header: ChunkHeader?
  }

  private static let slotCount = 8
  // Whoever waits is woken for so many at once: a wake costs more than a batch.
  private static let few = 4

  private let decoder: EventDecoder
  private let decompressor = ChunkBuffers()
  private let slots = (0..<DecodingAhead.slotCount).map { _ in EventBuffers() }
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private let hasWork: UnsafeMutablePointer<pthread_cond_t>
  private let hasOutput: UnsafeMutablePointer<pthread_cond_t>
  private var thread = pthread_t()

  // A place is the first thread's until it is submitted, then the second one's until its chunk has ended.
  private let jobs = UnsafeMutablePointer<Job>.allocate(capacity: 2)

  // Under the lock.
  private var firstJob = 0
  private var jobCount = 0
  private var outputs: [Output] = []
  private var freeSlots = DecodingAhead.slotCount
  private var isStopped = false

  // The first thread's: what it took from `outputs` at once, and whether it holds a slot.
  private var taken: [Output] = []
  private var nextTaken = 0
  private var holdsSlot = false

  /// Nil where no thread can be had.
  init?(_ decoder: EventDecoder) {
    self.decoder = decoder
    for place in 0..<2 { (jobs + place).initialize(to: Job()) }
    lock = .allocate(capacity: 1)
    hasWork = .allocate(capacity: 1)
    hasOutput = .allocate(capacity: 1)
    pthread_mutex_init(lock, nil)
    pthread_cond_init(hasWork, nil)
    pthread_cond_init(hasOutput, nil)
    let made = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<DecodingAhead>.fromOpaque(argument).takeUnretainedValue().work() }
        return nil
      }, Unmanaged.passUnretained(self).toOpaque())
    guard made == 0 else { return nil }
  }

  deinit {
    for place in 0..<2 { jobs[place].stored.deallocate() }
    jobs.deinitialize(count: 2)
    jobs.deallocate()
    pthread_cond_destroy(hasOutput)
    pthread_cond_destroy(hasWork)
    pthread_mutex_destroy(lock)
    hasOutput.deallocate()
    hasWork.deallocate()
    lock.deallocate()
  }

  /// Ends the thread and waits for it. To be called once, before the object goes.
  func stop() {
    pthread_mutex_lock(lock)
    isStopped = true
    pthread_cond_signal(hasWork)
    pthread_mutex_unlock(lock)
    pthread_join(thread, nil)
  }

  /// Gives it another chunk; at most two are under way.
  func submit(_ header: ChunkHeader, _ stored: UnsafeRawBufferPointer) {
    pthread_mutex_lock(lock)
    let place = (firstJob + jobCount) % 2
    pthread_mutex_unlock(lock)
    if jobs[place].stored.count < stored.count {
      jobs[place].stored.deallocate()
      jobs[place].stored = .allocate(byteCount: stored.count, alignment: 16)
    }
    jobs[place].stored.copyMemory(from: stored)
    pthread_mutex_lock(lock)
    jobs[place].count = stored.count
    jobs[place].header = header
    jobCount += 1
    pthread_cond_signal(hasWork)
    pthread_mutex_unlock(lock)
  }

  /// What came next. To be asked only while a chunk is under way.
  func next() -> Output {
    if holdsSlot { giveBack() }
    if nextTaken == taken.count { takeAll() }
    let output = taken[nextTaken]
    nextTaken += 1
    if case .batch = output { holdsSlot = true }
    return output
  }

  private func giveBack() {
    holdsSlot = false
    pthread_mutex_lock(lock)
    freeSlots += 1
    if freeSlots >= DecodingAhead.few { pthread_cond_signal(hasWork) }
    pthread_mutex_unlock(lock)
  }

  private func takeAll() {
    taken.removeAll(keepingCapacity: true)
    nextTaken = 0
    pthread_mutex_lock(lock)
    while outputs.isEmpty { pthread_cond_wait(hasOutput, lock) }
    swap(&taken, &outputs)
    pthread_mutex_unlock(lock)
  }

  // The second thread.

  private func work() {
    var slot = 0
    while let job = nextJob() {
      var failure: PayloadFailure?
      do throws(PayloadFailure) {
        guard try decode(job, &slot) else { return }
      } catch {
        failure = error
      }
      pthread_mutex_lock(lock)
      firstJob = (firstJob + 1) % 2
      jobCount -= 1
      outputs.append(failure.map { .failed($0) } ?? .chunkEnd)
      pthread_cond_signal(hasOutput)
      pthread_mutex_unlock(lock)
      if failure != nil { return }
    }
  }

  private func nextJob() -> Job? {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    while jobCount == 0 && !isStopped { pthread_cond_wait(hasWork, lock) }
    return isStopped ? nil : jobs[firstJob]
  }

  /// False: stopped.
  private func decode(_ job: Job, _ slot: inout Int) throws(PayloadFailure) -> Bool {
    guard let header = job.header else { return true }
    var payload = UnsafeRawBufferPointer(rebasing: job.stored[..<job.count])
    if header.codec != ChunkCodec.none.rawValue {
      do throws(Malformed) {
        payload = try decompressor.decompress(payload, rawLength: Int(header.rawLength))
      } catch {
        throw .malformed(error)
      }
    }
    try decoder.begin(payload)
    while true {
      guard waitForSlot() else { return false }
      let buffers = slots[slot]
      decoder.use(buffers)
      guard try decoder.next() else { return true }
      var batch = decoder.batch
      buffers.kinds.update(from: batch.kinds, count: batch.count)
      batch.kinds = UnsafePointer(buffers.kinds)
      slot = (slot + 1) % DecodingAhead.slotCount
      pthread_mutex_lock(lock)
      freeSlots -= 1
      outputs.append(.batch(batch))
      if outputs.count >= DecodingAhead.few { pthread_cond_signal(hasOutput) }
      pthread_mutex_unlock(lock)
    }
  }

  /// Batches are taken in order and given back in order: the next slot in the ring is free when any is.
  private func waitForSlot() -> Bool {
    pthread_mutex_lock(lock)
    defer { pthread_mutex_unlock(lock) }
    while freeSlots == 0 && !isStopped { pthread_cond_wait(hasWork, lock) }
    return !isStopped
  }
}
