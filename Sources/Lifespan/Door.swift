// The library's way to the C side: the state, and whole answers. Used by all parts of Allocations.
//
// Nothing here holds a lock while Swift runs: C copies an answer out, and the values are made of the copy.
#if Recording
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

  /// One whole answer, copied out of the recorder. It lies outside of the Swift heap, so that several questions can be
  /// asked in a row before anything of ours is allocated and counted.
  struct Answer: ~Copyable {
    private var answer: lifespan_linked_answer

    fileprivate init(_ answer: lifespan_linked_answer) { self.answer = answer }

    deinit {
      var answer = answer
      lifespan_linked_forget(&answer)
    }

    /// For as long as the answer is there.
    borrowing func withBytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
      body(UnsafeRawBufferPointer(start: answer.bytes, count: answer.length))
    }
  }

  /// Asks. An unknown object or stack is an empty answer.
  static func ask(
    _ op: lifespan_question_op, address: UInt64 = 0, generation: UInt32 = 0
  ) throws(Allocations.NotRecording) -> Answer {
    var question = lifespan_question(address: address, generation: generation, start: 0)
    var answer = lifespan_linked_answer()
    let status = lifespan_linked_ask(UInt32(op.rawValue), &question, &answer)
    guard status == LIFESPAN_LINKED_OK || status == LIFESPAN_LINKED_UNKNOWN else {
      throw Allocations.NotRecording(status)
    }
    return Answer(answer)
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

  /// What a mangled name stands for, as reports print it; the name itself where it is none.
  static func demangled(_ mangled: String) -> String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 2048) { plain in
      lifespan_linked_demangle(mangled, plain.baseAddress, plain.count)
      return plainName(String(decoding: UnsafeRawBufferPointer(plain).prefix { $0 != 0 }, as: UTF8.self))
    }
  }

  static func plainName(_ name: String) -> String {
    var name = name
    return name.withUTF8 { plainName(UnsafeRawBufferPointer($0)) }
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

  /// Visits the rows of an answer in which a text, padded to 8 bytes, follows each row; `length` says how long it is.
  /// Allocates nothing.
  func forEachRow<Row: BitwiseCopyable>(
    of type: Row.Type, textLength length: (Row) -> UInt32, _ visit: (Row, UnsafeRawBufferPointer) -> Void
  ) {
    var offset = 0
    while count - offset >= MemoryLayout<Row>.stride {
      let row = loadUnaligned(fromByteOffset: offset, as: Row.self)
      let text = offset + MemoryLayout<Row>.stride
      let end = text + Int(length(row))
      guard end <= count else { break }
      visit(row, UnsafeRawBufferPointer(rebasing: self[text..<end]))
      offset = (end + 7) & ~7
    }
  }
}
#endif
