// Messages of the session socket as Swift values. Used by the server in Record/ and by the clients in Session/.

import CSession
import Glibc

/// A question or an answer.
struct SessionMessage {
  var raw = lifespan_message()

  init(_ op: lifespan_op, number: UInt64 = 0, status: UInt32 = 0, text: String = "") {
    raw.abi = UInt32(LIFESPAN_ABI)
    raw.op = op.rawValue
    raw.pid = UInt32(bitPattern: getpid())
    raw.number = number
    raw.status = status
    set(text: text)
  }

  /// The next message of a connection; throws what the kernel or the protocol says.
  init(from socket: Int32) throws {
    let result = session_receive(socket, &raw)
    if result != 0 { throw SessionError(code: -result) }
  }

  func send(to socket: Int32, descriptor: Int32 = -1) throws {
    var copy = raw
    let result = session_send(socket, &copy, descriptor)
    if result != 0 { throw SessionError(code: -result) }
  }

  var op: lifespan_op { lifespan_op(rawValue: raw.op) }
  /// Free use by op.
  var number: UInt64 { raw.number }

  /// What it says; bytes that are no UTF-8 are replaced.
  var text: String {
    let limit = min(Int(raw.length), MemoryLayout.size(ofValue: raw.text))
    return withUnsafeBytes(of: raw.text) { String(decoding: $0.prefix(limit), as: UTF8.self) }
  }

  /// Text that is too long is cut at a character.
  private mutating func set(text: String) {
    var cut = text
    while cut.utf8.count > MemoryLayout.size(ofValue: raw.text) { cut.removeLast() }
    raw.length = UInt32(cut.utf8.count)
    withUnsafeMutableBytes(of: &raw.text) { $0.copyBytes(from: cut.utf8) }
  }
}

/// Why a message did not come or go.
struct SessionError: Error {
  let code: Int32
}
