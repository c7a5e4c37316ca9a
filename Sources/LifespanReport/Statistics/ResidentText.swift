// Resident memory against what lives: the last lines of the stats report where the two parted, and the document's object.
import LifespanAnalysis
import LifespanTrace

/// The verdict on a program's resident memory.
enum ResidentText {
  /// What is so, and what to do about it; empty where living and resident memory go together.
  static func sentences(_ memory: ResidentMemory) -> [String] {
    guard let verdict = memory.verdict, let heap = memory.last.heap, let free = memory.last.heldFree else { return [] }
    let living =
      "\(bytes(memory.last.livingBytes)) live in \(Units.things(memory.last.livingCount, "block"))"
    let held = "\(bytes(free)) are free and held by the allocator"
    switch verdict {
    case .heldFree:
      return ["resident memory and the heap part: \(living), in \(bytes(heap)) of resident pages; \(held)", cure]
    case .growsApart:
      let grown = heap - (memory.base.heap ?? .zero)
      let more = memory.last.livingFootprint - memory.base.livingFootprint
      return [
        "resident memory and the heap part: since \(Units.seconds(memory.base.time.rawValue)) the heap's pages grew by "
          + "\(bytes(grown)), what lives \(more.rawValue < 0 ? "shrank by \(bytes(.zero - more))" : "grew by \(bytes(more))"): "
          + "\(living), \(held)", cure,
      ]
    }
  }

  private static let cure =
    "that is no leak: what was freed can't be given back while blocks that live lie between it (fragmentation), or is kept for "
    + "later use. malloc_trim(0) gives back the pages that are wholly free; fewer arenas (MALLOC_ARENA_MAX=2), and blocks that "
    + "live long made before those that don't, leave less of it"

  private static func bytes(_ count: ByteCount) -> String { Units.bytes(count.rawValue) }

  static func json(_ memory: ResidentMemory?) -> JSONValue {
    guard let memory else { return .null }
    let text = sentences(memory)
    return .pairs([
      "samples": .integer(Int64(memory.count)), "whole_heap": .bool(memory.isWholeHeap), "first": json(memory.first),
      "peak": json(memory.peak), "last": json(memory.last),
      "held_free_bytes": memory.isWholeHeap ? integer(memory.last.heldFree) : .null,
      "verdict": .optional(memory.verdict?.rawValue), "text": .optional(text.isEmpty ? nil : text[0]),
    ])
  }

  private static func json(_ sample: ResidentMemory.Sample) -> JSONValue {
    .pairs([
      "time_ns": .integer(sample.time.rawValue), "resident_bytes": .integer(sample.resident.rawValue),
      "anonymous_bytes": .integer(sample.anonymous.rawValue), "swapped_bytes": .integer(sample.swapped.rawValue),
      "heap_bytes": integer(sample.heap), "living_count": .integer(Int64(sample.livingCount)),
      "living_bytes": .integer(sample.livingBytes.rawValue),
      "living_footprint_bytes": .integer(sample.livingFootprint.rawValue),
    ])
  }

  private static func integer(_ bytes: ByteCount?) -> JSONValue { bytes.map { .integer($0.rawValue) } ?? .null }
}
