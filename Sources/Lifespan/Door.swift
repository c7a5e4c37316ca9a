// The library's way to the C side: the state, and whole answers. Used by all parts of Allocations.
//
// Nothing here holds a lock while Swift runs: C copies an answer out, and the values are made of the copy.
internal import CDrain
internal import CLinkedDoor

enum Door {
  /// Of the interface between this library and a preload library.
  static var abi: UInt32 { UInt32(LIFESPAN_ABI) }

  static func state() -> lifespan_linked_state {
    var state = lifespan_linked_state()
    lifespan_linked_state(&state)
    return state
  }

  /// Asks, and gives the answer's bytes to `body`. An unknown object or stack is an empty answer.
  static func ask<Value>(
    _ op: lifespan_question_op, address: UInt64 = 0, generation: UInt32 = 0, _ body: (UnsafeRawBufferPointer) -> Value
  ) throws(Allocations.NotRecording) -> Value {
    var question = lifespan_question(address: address, generation: generation, start: 0)
    var answer = lifespan_linked_answer()
    let status = lifespan_linked_ask(UInt32(op.rawValue), &question, &answer)
    defer { lifespan_linked_forget(&answer) }
    guard status == LIFESPAN_LINKED_OK || status == LIFESPAN_LINKED_UNKNOWN else {
      throw Allocations.NotRecording(status)
    }
    return body(UnsafeRawBufferPointer(start: answer.bytes, count: answer.length))
  }

  /// Why nothing can be asked, if so.
  static func checkRecording() throws(Allocations.NotRecording) {
    let status = lifespan_linked_status(state().status)
    guard status == LIFESPAN_LINKED_OK else { throw Allocations.NotRecording(status) }
  }

  /// The same name without the discriminators of private and local types.
  static func plainName(_ name: UnsafeRawBufferPointer) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: name.count + 1) { plain in
      let length = lifespan_linked_plain_name(
        name.baseAddress?.assumingMemoryBound(to: CChar.self), name.count, plain.baseAddress, plain.count)
      return String(decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(plain)[..<length]), as: UTF8.self)
    }
  }
}

extension String {
  /// A text as C leaves it in a buffer: up to the first zero.
  init(fromC characters: [CChar]) {
    self.init(decoding: characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

extension UnsafeRawBufferPointer {
  /// The rows of an answer that is nothing but rows.
  func rows<Row: BitwiseCopyable>(of type: Row.Type) -> [Row] {
    let stride = MemoryLayout<Row>.stride
    return (0..<count / stride).map { loadUnaligned(fromByteOffset: $0 * stride, as: Row.self) }
  }

  /// The rows of an answer in which a text, padded to 8 bytes, follows each row; `length` says how long it is.
  func rows<Row: BitwiseCopyable, Value>(
    of type: Row.Type, textLength length: (Row) -> UInt32, _ make: (Row, UnsafeRawBufferPointer) -> Value
  ) -> [Value] {
    var values: [Value] = []
    var offset = 0
    while count - offset >= MemoryLayout<Row>.stride {
      let row = loadUnaligned(fromByteOffset: offset, as: Row.self)
      let text = offset + MemoryLayout<Row>.stride
      let end = text + Int(length(row))
      guard end <= count else { break }
      values.append(make(row, UnsafeRawBufferPointer(rebasing: self[text..<end])))
      offset = (end + 7) & ~7
    }
    return values
  }
}
