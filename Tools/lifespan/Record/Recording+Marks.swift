// The names of a recording's marks, as its reader will see them. Asked by RecordSession for a mark without a name.

import CDrain
import LifespanTrace

extension Recording {
  /// What mark number `number` is called, which has no name of its own. The program may have named others before it.
  func letters(ofMark number: UInt64) -> String {
    var letters = GenerationLetters()
    for name in withDrain({ Self.markNames($0, below: number) }) { _ = letters.name(name) }
    return letters.name("")
  }

  /// The names of the marks before `number`, empty ones too. Fewer where the drain has no memory to say them.
  private static func markNames(_ drain: OpaquePointer, below number: UInt64) -> [String] {
    var names: [String] = []
    var room = [UInt64](repeating: 0, count: 8_192)
    while UInt64(names.count) < number {
      var question = lifespan_question()
      question.start = UInt32(clamping: names.count)
      var more = false
      let before = names.count
      let used = room.withUnsafeMutableBytes { answer in
        lifespan_drain_ask(
          drain, LIFESPAN_ASK_MARKS.rawValue, &question, MemoryLayout<lifespan_question>.size, answer.baseAddress,
          answer.count, &more)
      }
      guard used > 0 else { break }
      room.withUnsafeBytes { names += Self.names(in: UnsafeRawBufferPointer(rebasing: $0[..<Int(used)])) }
      if names.count == before { break }
    }
    return Array(names.prefix(Int(clamping: number)))
  }

  /// Heads, each followed by its name, which is padded to eight bytes.
  private static func names(in answer: UnsafeRawBufferPointer) -> [String] {
    let head = MemoryLayout<lifespan_mark_row>.size
    var names: [String] = []
    var place = 0
    while place + head <= answer.count {
      let length = Int(answer.loadUnaligned(fromByteOffset: place, as: lifespan_mark_row.self).name_length)
      guard length <= answer.count - place - head else { break }
      names.append(String(decoding: answer[(place + head)..<(place + head + length)], as: UTF8.self))
      place += head + (length + 7) & ~7
    }
    return names
  }
}
