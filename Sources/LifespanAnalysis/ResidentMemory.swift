// What the system held for the process, against what lived: the samples of a trace, and whether the two parted. Read by the stats report.
import LifespanTrace

/// Resident memory against what lives.
public struct ResidentMemory: Sendable, Codable, Equatable {
  /// One sample.
  public struct Sample: Sendable, Codable, Hashable {
    /// When.
    public var time: TraceTime
    /// Resident bytes of the process, with the recorder's own.
    public var resident: ByteCount
    /// Those of them that belong to no file.
    public var anonymous: ByteCount
    /// Bytes of the process in swap.
    public var swapped: ByteCount
    /// Pages in which blocks of the heap have lain, resident or in swap; nil where they could not be counted.
    public var heap: ByteCount?
    /// Recorded blocks that lived.
    public var livingCount: Int
    /// Their bytes as asked for.
    public var livingBytes: ByteCount
    /// Their bytes as the C library's allocator hands them out.
    public var livingFootprint: ByteCount

    init(_ record: SampleRecord, _ header: TraceHeader) {
      time = header.time(record.time)
      resident = record.resident
      anonymous = record.anonymous
      swapped = record.swapped
      heap = record.knowsHeap ? record.heapResident + record.heapSwapped : nil
      livingCount = Int(clamping: record.livingCount)
      livingBytes = record.livingBytes
      livingFootprint = record.livingFootprint
    }

    /// Bytes of the heap's pages that no living block takes; nil where the pages are not known.
    public var heldFree: ByteCount? {
      heap.map { ByteCount(max(0, $0.rawValue &- livingFootprint.rawValue)) }
    }
  }

  /// How the two parted.
  public enum Verdict: String, Sendable, Codable, Hashable {
    /// Most of the heap's pages hold nothing that lives.
    case heldFree = "held_free"
    /// The heap's pages grow, what lives does not.
    case growsApart = "grows_apart"
  }

  /// How many samples there are.
  public var count: Int
  /// The oldest.
  public var first: Sample
  /// The one with the most resident bytes.
  public var peak: Sample
  /// The newest.
  public var last: Sample
  /// All blocks of malloc were recorded: what lives is the whole heap, else a part of it that is not to be compared.
  public var isWholeHeap: Bool
  /// With what the newest sample was compared to find that they grow apart.
  public var base: Sample
  /// Whether and how they parted. Nil where they did not, or where it can't be told.
  public var verdict: Verdict?

  /// Less than this is nobody's trouble.
  public static let least = ByteCount(Int64(32 << 20))

  /// Nil where the trace has no samples.
  public init?(_ trace: Trace) {
    let samples = Self.samples(trace)
    guard let first = samples.first, let last = samples.last else { return nil }
    count = samples.count
    self.first = first
    self.last = last
    peak = samples.reduce(first) { $1.resident > $0.resident ? $1 : $0 }
    isWholeHeap = trace.info["malloc"] == "all"
    // What a program does first, loading and filling caches, is no growth.
    let warm = first.time.rawValue + (last.time.rawValue - first.time.rawValue) / 4
    base = samples.first { $0.time.rawValue >= warm } ?? first
    verdict = isWholeHeap ? Self.verdict(base, last) : nil
  }

  /// All samples of a trace, in order.
  static func samples(_ trace: Trace) -> [Sample] { trace.samples.map { Sample($0, trace.header) } }

  private static func verdict(_ base: Sample, _ last: Sample) -> Verdict? {
    guard let heap = last.heap, let free = last.heldFree, free >= least else { return nil }
    if free.rawValue >= heap.rawValue / 2 { return .heldFree }
    guard let before = base.heap else { return nil }
    let grown = heap - before
    let living = last.livingFootprint - base.livingFootprint
    let isMuch = grown >= least && grown.rawValue >= before.rawValue / 4
    return isMuch && living.rawValue < grown.rawValue / 4 ? .growsApart : nil
  }
}

extension Analysis {
  /// Resident memory against what lives, as sampled; nil where nothing was.
  public var residentMemory: ResidentMemory? { ResidentMemory(trace) }

  /// Every sample of resident memory; empty where nothing was sampled.
  public var residentSamples: [ResidentMemory.Sample] { ResidentMemory.samples(trace) }
}
