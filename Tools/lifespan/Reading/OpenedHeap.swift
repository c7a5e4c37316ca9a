// A picture of the heap of an opened trace: the newest, or the one that was asked for. Used by leaks, holders, growth and export.
import LifespanAnalysis
import LifespanHeap
import LifespanReport
import LifespanTrace

/// A trace with a picture of its heap.
struct OpenedHeap {
  let recording: OpenedRecording
  let heap: Heap

  static let pictureOption = OptionSpec.option(
    "--picture", value: "N", help: "the Nth picture of the heap in the trace, from 1; default the newest")

  init(_ typed: String?, _ options: ReadingOptions, picture: Int?) throws {
    // Of a recording that runs: as things are now, unless an older picture is asked for.
    if picture == nil, let pid = typed.flatMap(TraceOperand.pid) {
      try RunningRecording.select(pid: pid).takePicture()
    }
    try self.init(try OpenedRecording(typed, options), picture: picture)
  }

  private init(_ recording: OpenedRecording, picture: Int?) throws {
    self.recording = recording
    let trace = recording.analysis.trace
    let pictures = trace.heapPictures
    guard !pictures.isEmpty else { throw CommandFailure(Self.none(trace)) }
    if let picture, picture > pictures.count {
      let have = "\(Units.things(pictures.count, "picture")) of the heap"
      throw CommandFailure("\(trace.name): has \(have), not \(picture); give --picture 1 to \(pictures.count)")
    }
    // A picture that the file's end cut is passed over for the one before it.
    for place in picture.map({ [$0 - 1] }) ?? Array(pictures.indices.reversed()) {
      if let graph = try trace.heapGraph(place) {
        heap = try Heap(graph, recording.analysis)
        return
      }
    }
    throw CommandFailure(
      "\(trace.name): its picture of the heap is not whole (\(trace.ending.sentence)); take another one")
  }

  /// The newest whole picture of an opened trace, or the one that is asked for; nil where the trace has none and none is asked for.
  static func heap(of recording: OpenedRecording, picture: Int?) throws -> Heap? {
    if picture == nil, recording.analysis.trace.heapPictures.isEmpty { return nil }
    return try OpenedHeap(recording, picture: picture).heap
  }

  private static func none(_ trace: Trace) -> String {
    "\(trace.name): holds no picture of the heap, without which nobody can tell who holds an object; take one with "
      + "`lifespan record --leaks`, `lifespan mark --leaks`, or from a recording that runs: `lifespan leaks PID`"
  }

  /// `--picture`.
  static func picture(_ arguments: ParsedArguments) throws -> Int? {
    try arguments.value("--picture", expected: "a number from 1") {
      ValueParser.count($0).flatMap { Int(exactly: $0) }.flatMap { $0 > 0 ? $0 : nil }
    }
  }

  /// TYPE, ADDRESS or @SERIAL.
  static func selector(_ text: String) throws -> HeapSelector {
    if let serial = ValueParser.serial(text) { return .serial(SerialNumber(serial)) }
    if text.hasPrefix("0x"), let address = UInt64(text.dropFirst(2), radix: 16) {
      return .address(ObjectAddress(address))
    }
    guard !text.isEmpty else { throw UsageError.badOperand(text, expected: "a type, an address, or @SERIAL") }
    return .type(text)
  }
}
