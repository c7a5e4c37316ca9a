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
      return heap_type_make(row.kind, name, Int(row.name_length), row.metadata, row.instance_size)
    }
  }
}
