// Small files that the user names: suppressions, baselines, exports. Errors are one line with the path.
import Glibc

enum TextFile {
  static func read(_ path: String) throws -> String {
    guard let text = try read(path, mayBeMissing: false) else { return "" }
    return text
  }

  /// Nil where it may be missing and is.
  static func read(_ path: String, mayBeMissing: Bool) throws -> String? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT, mayBeMissing { return nil }
      throw CommandFailure("\(path): can't be read (\(String(cString: strerror(errno))))")
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0 {
        if errno == EINTR { continue }
        throw CommandFailure("\(path): can't be read (\(String(cString: strerror(errno))))")
      }
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += piece[..<count]
    }
  }

  /// Replaces the file in one step: whoever reads it meanwhile has the old one or the new one whole.
  static func write(_ text: String, to path: String) throws { try write(Array(text.utf8), to: path) }

  /// The same for what is no text.
  static func write(_ bytes: [UInt8], to path: String) throws {
    let part = "\(path).\(getpid())~"
    func fail() -> CommandFailure {
      let why = String(cString: strerror(errno))
      unlink(part)
      return CommandFailure("\(path): can't be written (\(why))")
    }
    let descriptor = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw fail() }
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        close(descriptor)
        throw fail()
      }
      rest = rest.dropFirst(count)
    }
    guard close(descriptor) == 0, rename(part, path) == 0 else { throw fail() }
  }
}
