// One picture of the heap being made: scan, names, graph, chunks. Runs on a thread of its own; made, joined and let go by HeapPictures.

import CDrain
import CHeap
import CSession
import Glibc
import LifespanTrace
import Synchronization

/// Makes one picture. Everything but `start`, `isDone`, `join` and `letGo` happens on its own thread.
final class HeapPictureWork: @unchecked Sendable {
  let point: HeapGraph.Point
  /// What the program has asked for; nil: the picture is for the trace.
  let look: HeapLook?
  private let source: HeapSource
  private var head: HeapGraph.Head
  private let knowsAll: Bool
  private let hasLost: Bool
  private let began: UInt64
  private let pause: UInt64?
  private let blocks: HeapBlocks
  private let types: HeapTypes
  private let threads: [HeapThread]
  private var thread = pthread_t()
  private let hasEnded = Atomic<Bool>(false)
  private var result = HeapPictureResult()

  /// `pause`: how long it took until the program went on; nil: it stands still until the end.
  init(
    source: HeapSource, point: HeapGraph.Point, look: HeapLook?, head: HeapGraph.Head, knowsAll: Bool, hasLost: Bool,
    began: UInt64, pause: UInt64?, blocks: HeapBlocks, types: HeapTypes, threads: [HeapThread]
  ) {
    self.source = source
    self.point = point
    self.look = look
    self.hasLost = hasLost
    self.head = head
    self.knowsAll = knowsAll
    self.began = began
    self.pause = pause
    self.blocks = blocks
    self.types = types
    self.threads = threads
  }

  /// On this thread where there is no other to be had.
  func start() {
    let work = Unmanaged.passRetained(self)
    let failed = pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<HeapPictureWork>.fromOpaque(context).takeRetainedValue().run() }
        return nil
      }, work.toOpaque())
    guard failed != 0 else { return }
    thread = pthread_t()
    work.takeRetainedValue().run()
  }

  var isDone: Bool { hasEnded.load(ordering: .acquiring) }

  /// Waits for its end.
  func join() -> HeapPictureResult {
    if thread != pthread_t() { pthread_join(thread, nil) }
    return result
  }

  /// The program goes on, the copy ends. On the thread that has stopped it.
  func letGo() { source.letGo() }

  private func run() {
    result = make()
    hasEnded.store(true, ordering: .releasing)
  }

  // MARK: On its own thread

  private func make() -> HeapPictureResult {
    withInput { input in
      let from = HeapPictures.now()
      guard let heap = heap_begin(&input) else { return .failed("no memory for it") }
      defer { heap_end(heap) }
      let error = heap_scan(heap)
      let scanned = HeapPictures.now() - from
      guard error == 0 else {
        return .failed(error == ESRCH ? "its memory cannot be read" : SystemError.text(error))
      }
      if let look { return report(look, heap) }
      var unread: UInt64 = 0
      let bytes = heap_bytes(heap, &unread)
      if unread > 0 {
        // Blocks that the program has protected; what stands there may be all that holds an object.
        head.isComplete = false
        head.notes.insert("\(unread) bytes of its blocks could not be read", at: 0)
      }
      head.objectsChecked = UInt64(blocks.count)
      var graph = HeapGraphMaking(heap, blocks, threads, head).graph()
      graph.head.pauseNanoseconds = pause ?? HeapPictures.now() - began
      var made = HeapPictureResult(scan: "\(bytes) bytes in \(scanned) ns")
      graph.forEachChunk { kind, bytes in made.chunks.append((kind, bytes)) }
      return made
    }
  }

  /// As the linked library makes one of its own process.
  private func report(_ look: HeapLook, _ heap: OpaquePointer) -> HeapPictureResult {
    var made = HeapPictureResult()
    var report = heap_report()
    let withheld = hasLost ? "events were lost, so that what holds an object may not be known" : ""
    head.notes.joined(separator: "\n").withCString { notes in
      withheld.withCString { withheld in
        var facts = heap_report_facts(pause_ns: pause ?? HeapPictures.now() - began, notes: notes, withheld: withheld)
        made.error =
          look.question == LIFESPAN_ASK_HOLDERS.rawValue
          ? heap_report_holders(heap, look.address, &facts, &report) : heap_report_leaks(heap, &facts, &report)
      }
    }
    if let bytes = report.bytes {
      made.report = Array(UnsafeBufferPointer(start: bytes, count: report.length))
      free(bytes)
    }
    return made
  }

  private func withInput(_ body: (inout heap_input) -> HeapPictureResult) -> HeapPictureResult {
    let registers = threads.map(\.registers)
    return types.types.withUnsafeBufferPointer { types in
      registers.withUnsafeBufferPointer { registers in
        // The words of each stand in `registers`.
        let offset = MemoryLayout<session_registers>.offset(of: \.words) ?? 0
        var list: [heap_thread] = []
        for index in registers.indices {
          let one = registers[index]
          let words = registers.baseAddress.map { UnsafeRawPointer($0 + index) + offset }
          list.append(
            heap_thread(
              pc: one.pc, sp: one.sp, thread_pointer: one.thread_pointer,
              words: words?.assumingMemoryBound(to: UInt64.self), count: one.count, number: threads[index].number,
              in_kernel: one.in_kernel))
        }
        return list.withUnsafeBufferPointer { list in
          "liblifespan_preload".withCString { own in
            var input = heap_input()
            input.pid = source.pid
            input.blocks = blocks.storage
            input.count = blocks.count
            input.types = types.baseAddress
            input.type_count = types.count
            input.threads = list.baseAddress
            input.thread_count = list.count
            input.knows_all = knowsAll
            input.own_image = own
            return body(&input)
          }
        }
      }
    }
  }
}

/// A question of the program to its own heap.
struct HeapLook {
  /// LIFESPAN_ASK_LEAKS or LIFESPAN_ASK_HOLDERS.
  var question: UInt32 = 0
  /// Of the object.
  var address: UInt64 = 0
}

/// What came of a picture.
struct HeapPictureResult: Sendable {
  var chunks: [(ChunkKind, [UInt8])] = []
  /// How much memory was read, and in what time every reference in it was found.
  var scan = ""
  /// The answer to the program's question, or an errno value.
  var report: [UInt8] = []
  var error: Int32 = 0
  /// Why there is none.
  var failure: String?

  static func failed(_ reason: String) -> HeapPictureResult { HeapPictureResult(failure: reason) }
}
