// Files for tests, without Foundation. Used by RoundTripTests.
#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

enum TestFile {
  struct Failed: Error {}

  static func write(_ bytes: [UInt8], _ path: String) throws {
    let file = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0o600)
    guard file >= 0 else { throw Failed() }
    defer { close(file) }
    let written = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, 0) }
    guard written == bytes.count else { throw Failed() }
  }

  static func remove(_ path: String) { unlink(path) }
}
