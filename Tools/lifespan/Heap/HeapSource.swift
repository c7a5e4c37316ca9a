// What a picture of the heap is made of: the process that stands still, its threads, its blocks and types as the drain knows them. Filled by
// HeapPictures on the thread that traces, read by HeapPictureWork.

import CDrain
import CHeap
import CSession
import Glibc

/// The process whose memory is read.
struct HeapSource {
  /// The copy, or the program itself.
  var pid: Int32
  /// The program.
  let recorded: Int32
  var copy: session_copy
  /// Its threads, where they stand still until the picture is done.
  var stopped: OpaquePointer?

  /// On the thread that has stopped it.
  func letGo() {
    if let stopped { session_go_on(stopped) }
    var copy = copy
    if copy.pid > 0 { session_copy_end(recorded, &copy) }
  }
}

/// Blocks in memory of their own: with millions of them an array would be copied by accident.
final class HeapBlocks {
  let storage: UnsafeMutablePointer<heap_block>
  let capacity: Int
  var count = 0

  init(capacity: Int) {
    self.capacity = max(1, capacity)
    storage = .allocate(capacity: self.capacity)
  }

  deinit { storage.deallocate() }
}

/// One thread as it stood.
struct HeapThread {
  let tid: Int32
  /// In the recording; 0 not known.
  let number: UInt32
  let name: String
  let registers: session_registers

  static func all(of stopped: OpaquePointer, _ pid: Int32, _ drain: OpaquePointer) -> [HeapThread] {
    (0..<session_thread_count(stopped)).compactMap { index in
      var registers = session_registers()
      guard session_registers(stopped, index, &registers) else { return nil }
      let tid = registers.tid
      let name = String(decoding: ProcessFacts.contents("/proc/\(pid)/task/\(tid)/comm"), as: UTF8.self)
      return HeapThread(
        tid: tid, number: lifespan_drain_thread(drain, UInt32(bitPattern: tid)),
        name: String(name.prefix { $0 != "\n" }), registers: registers)
    }
  }
}

/// The types by the recorder's numbers, as the scan needs them.
struct HeapTypes {
  let types: [heap_type]

  init(_ drain: OpaquePointer) {
    types = (0..<lifespan_drain_type_limit(drain)).map { id in
      var row = lifespan_type_row()
      var name: UnsafePointer<CChar>?
      guard lifespan_drain_type(drain, id, &row, &name), let name else { return heap_type() }
      let text = UnsafeRawBufferPointer(start: name, count: Int(row.name_length))
      let kind = Self.kind(lifespan_object_kind(row.kind), String(decoding: text, as: UTF8.self))
      return heap_type(metadata: row.metadata, kind: kind.rawValue, instance_size: row.instance_size)
    }
  }

  private static func kind(_ kind: lifespan_object_kind, _ name: String) -> heap_kind {
    switch kind {
    case LIFESPAN_KIND_ARRAY: return HEAP_KIND_ARRAY
    case LIFESPAN_KIND_DICTIONARY: return HEAP_KIND_DICTIONARY
    case LIFESPAN_KIND_SET: return HEAP_KIND_SET
    case LIFESPAN_KIND_TASK: return HEAP_KIND_TASK
    case LIFESPAN_KIND_CLOSURE, LIFESPAN_KIND_BOX: return HEAP_KIND_CONTEXT
    case LIFESPAN_KIND_CLASS: break
    default: return HEAP_KIND_MALLOC
    }
    if name.hasSuffix("StringBreadcrumbs") { return HEAP_KIND_BREADCRUMBS }
    if name.hasSuffix(".__StringStorage") || name.hasSuffix(".__SharedStringStorage") { return HEAP_KIND_STRING }
    if name.hasSuffix(".__NSCFType") { return HEAP_KIND_CF }
    return name.contains("DequeBuffer<") ? HEAP_KIND_DEQUE : HEAP_KIND_OBJECT
  }
}
