// A trace that was cut, and the rest of it: what still lies in the rings file of `record --rings`. The same drain that writes
// traces takes it, in memory; neither file is changed. Used by every subcommand that opens a trace.
import CDrain
import CSession
import Glibc
import LifespanTrace

extension TraceOperand {
  /// Opens the trace, with what its rings hold where it was cut.
  /// `streams`: the report is printed while it is read.
  func open(streams: Bool = false) throws -> Trace {
    let file = try ReadingProgress.open(path, streams: streams)
    let trace = try Trace(file)
    guard elapsed == nil, trace.ending.reason != .whole else { return trace }
    guard let rest = try RingsRest(of: trace, file, beside: path) else { return trace }
    StandardStreams.errorLine("lifespan: \(path) was cut: \(rest.said)")
    return try Trace(rest.whole)
  }
}

/// What the rings of a cut trace hold.
private struct RingsRest {
  /// The trace as it would have become.
  let whole: any TraceBytes
  /// For the reader.
  let said: String

  /// Nil where there is no rings file, or it is not this trace's. Throws what is wrong with one that is.
  init?(of trace: Trace, _ file: any TraceBytes, beside path: String) throws {
    for rings in [trace.info["rings"], path + ".rings"].compactMap({ $0 }) where access(rings, F_OK) == 0 {
      var map: OpaquePointer?
      let error = session_map_read(rings, &map)
      guard error == 0, let map else {
        StandardStreams.errorLine("lifespan: \(rings) cannot be used: \(SystemError.text(-error))")
        continue
      }
      defer { session_map_close(map, -1) }
      var bytes: UInt64 = 0
      guard session_map_pid(map) == trace.header.pid, lifespan_drain_committed(map, &bytes),
        bytes <= trace.ending.offset
      else { continue }
      let beginning = TracePart(file, length: bytes)
      let rest = try Self.drain(map, after: Trace(beginning), rings)
      whole = TracePart(file, length: bytes, then: rest.bytes)
      said = rest.events == 0 ? "nothing more was in \(rings)" : "\(rest.events) events more were in \(rings)"
      return
    }
    return nil
  }

  private static func drain(
    _ map: OpaquePointer, after trace: Trace, _ rings: String
  ) throws -> (bytes: [UInt8], events: UInt64) {
    let collected = Collected()
    var options = lifespan_drain_options()
    options.map = map
    options.file = -1
    options.sink_context = Unmanaged.passUnretained(collected).toOpaque()
    options.sink = { context, bytes, length in
      guard let context, let bytes else { return EINVAL }
      let collected = Unmanaged<Collected>.fromOpaque(context).takeUnretainedValue()
      collected.bytes += UnsafeRawBufferPointer(start: bytes, count: length)
      return 0
    }
    options.ticks_per_unit = trace.header.ticksPerUnit
    options.ticks_per_second = trace.header.ticksPerSecond
    let seed = try TraceSeed(trace)
    options.inherits = seed.drain
    guard let drain = lifespan_drain_create(&options) else {
      throw CommandFailure("\(rings): \(SystemError.text(errno))")
    }
    defer { lifespan_drain_destroy(drain) }
    lifespan_drain_rewind(drain)
    let error = lifespan_drain_finish(drain, false, 0)
    if error != 0 { throw CommandFailure("\(rings): \(SystemError.text(error))") }
    var counts = lifespan_drain_counts()
    lifespan_drain_counts(drain, &counts)
    withExtendedLifetime(collected) {}
    return (collected.bytes, counts.events &- seed.events)
  }

  private final class Collected {
    var bytes: [UInt8] = []
  }
}

/// The first bytes of a file, and others behind them.
private final class TracePart: TraceBytes {
  let name: String
  private let file: any TraceBytes
  private let length: UInt64
  private let rest: TraceMemory

  init(_ file: any TraceBytes, length: UInt64, then rest: [UInt8] = []) {
    name = file.name
    self.file = file
    self.length = length
    self.rest = TraceMemory(rest)
  }

  func read(at offset: UInt64, into target: UnsafeMutableRawBufferPointer) throws(TraceError) -> Int {
    guard offset < length else { return rest.read(at: offset - length, into: target) }
    let own = min(UInt64(target.count), length - offset)
    let got = try file.read(at: offset, into: UnsafeMutableRawBufferPointer(rebasing: target[..<Int(own)]))
    guard got == Int(own), got < target.count else { return got }
    return got + rest.read(at: 0, into: UnsafeMutableRawBufferPointer(rebasing: target[got...]))
  }
}
