// What mapping.c asks of the bytes that the drain wrote: that the reader takes them whole. Compiled by Tools/fuzz/run.
import LifespanTrace

/// `ended`: nothing kept the drain from writing its end.
@_cdecl("fuzz_check_trace")
public func checkTrace(_ bytes: UnsafePointer<UInt8>?, _ count: Int, _ ended: Bool) {
  // A program that never came to run leaves nothing, and a disk that is full at once no header.
  if count < TraceHeader.byteCount { return }
  do throws(TraceError) {
    let trace = try Trace(TraceMemory(Array(UnsafeBufferPointer(start: bytes, count: count))))
    try trace.forEachPart { _, _ in }
    let ending = trace.ending
    if ended ? ending.reason != .whole : ending.reason != .whole && ending.reason != .unfinished {
      fatalError("the drain wrote a trace that ends so: \(ending.sentence)")
    }
  } catch {
    fatalError("the drain wrote no trace: \(error)")
  }
}
