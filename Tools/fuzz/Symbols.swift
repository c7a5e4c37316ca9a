// libFuzzer's target for the names of functions: the path of an image comes out of a trace, and what lies there may be
// any file. Compiled by Tools/fuzz/run.
import Glibc
import LifespanSymbols

private func name(_ image: CodeImage, _ addresses: [UInt64]) -> [SymbolNote] {
  // Lines are libdw's, which is the system's and is not built here: what it makes of a broken file is not ours to mend.
  let symbolizer = Symbolizer(debugRoot: "/nonexistent", lines: false)
  for address in addresses {
    for place in [CodeAddress.returnAddress(address), .instruction(address)] {
      _ = symbolizer.frame(at: CodeLocation(image: image, address: place)).description
    }
  }
  return symbolizer.notes
}

/// A file without a name, used again for every input.
private let file: Int32 = {
  var path = Array("/tmp/lifespan-fuzz-XXXXXX".utf8CString)
  let opened = mkstemp(&path)
  unlink(path)
  return opened
}()

/// One input: the bytes of a file.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  guard file >= 0, ftruncate(file, 0) == 0, pwrite(file, data, size, 0) == size else { fatalError("no file") }
  // Where the functions of the seeds lie, and the edges.
  let addresses = Array(stride(from: UInt64(0), to: 0x3000, by: 0x97)) + [UInt64.max, 1 << 63]
  let path = "/proc/self/fd/\(file)"
  for note in name(CodeImage(path: path), addresses) {
    _ = note.text
    // The same once more as the build that it says it is.
    if case .otherBuild(_, let found) = note.problem { _ = name(CodeImage(path: path, buildID: found), addresses) }
  }
  return 0
}
