// One record of a trace as one line of `lifespan dump`. The lines say what stands in the file and interpret nothing.
import LifespanSymbols
import LifespanTrace

/// The line of each kind of record.
enum DumpLines {
  static func header(_ header: TraceHeader) -> [String] {
    let clock = ["unknown clock", "time stamp counter", "monotonic clock"]
    let architecture = ["unknown architecture", "x86-64", "aarch64"]
    let capture = ["capture none", "capture complete", "capture partial", "capture counts-only"]
    let door = ["unknown door", "preload door", "linked door"]
    func word(_ words: [String], _ number: UInt8) -> String {
      Int(number) < words.count ? words[Int(number)] : "\(words[0]) (\(number))"
    }
    return [
      "header version 1.\(header.minor), \(word(clock, header.clock)), \(word(architecture, header.architecture)), "
        + "\(word(capture, header.capture)), \(word(door, header.door))",
      "  pid \(header.pid), parent \(header.parentPID), page size \(header.pageSize), "
        + "\(header.ticksPerSecond) ticks a second, \(header.ticksPerUnit) a unit",
      "  start \(header.startTicks) ticks, \(header.startRealtime) ns since 1970",
    ]
  }

  static func line(_ row: InfoRecord) -> String { "\(row.key) = \(quoted(row.value))" }

  static func line(_ row: ImageRecord) -> String {
    guard row.isLoad else { return "image \(row.id) unloaded, epoch \(row.epoch)" }
    let id = row.buildID.isEmpty ? "no build-id" : "build-id \(BuildID(row.buildID))"
    return "image \(row.id) loaded, epoch \(row.epoch), \(hex(row.start))..<\(hex(row.end)), bias \(hex(row.bias)), "
      + "\(id), \(quoted(row.path))"
  }

  static func line(_ row: StackNode) -> String {
    var text = "stack \(row.id), parent \(row.parent), pc \(row.pc), epoch \(row.epoch)"
    if row.end != .whole { text += ", label \(row.end)" }
    return text
  }

  static func line(_ row: TypeRecord) -> String {
    var text = "type \(row.id), \(row.kind), \(quoted(row.name)), metadata \(hex(row.metadata))"
    if row.instanceSize > 0 { text += ", size \(row.instanceSize)" }
    if row.superclass != TypeID(0) { text += ", superclass \(row.superclass)" }
    if row.caller != ReturnAddress(0) { text += ", made at \(row.caller)" }
    if row.flags != 0 { text += ", flags \(hex(row.flags))" }
    return text
  }

  static func line(_ row: ThreadRecord) -> String {
    let words: [ThreadOp: String] = [.seen: "first seen", .renamed: "renamed", .ended: "ended", .gone: "found gone"]
    let what = words[row.op] ?? "op \(row.op)"
    return "thread \(row.thread), tid \(row.tid), \(what) at \(row.time), \(quoted(row.name))"
  }

  static func line(_ row: ThreadOriginRecord) -> String {
    "thread \(row.thread), made by thread \(row.creator) at \(row.time), stack \(row.stack), "
      + "starts at \(hex(row.start)), \(row.stackBytes) bytes of stack"
  }

  static func line(_ row: SampleRecord) -> String {
    "sample at \(row.time), flags \(row.flags), resident \(row.resident), anonymous \(row.anonymous), "
      + "swapped \(row.swapped), heap resident \(row.heapResident), heap swapped \(row.heapSwapped), "
      + "living \(row.livingCount), \(row.livingBytes) bytes, footprint \(row.livingFootprint)"
  }

  static func line(_ row: SiteRecord, number: Int) -> String {
    "site \(number), type \(row.type), stack \(row.stack), \(row.size) bytes"
  }

  static func line(_ row: MarkRecord) -> String {
    "mark closes generation \(row.closes) at \(row.time), first event after it \(row.firstEvent), \(quoted(row.name))"
  }

  static func line(_ row: GapRecord) -> String {
    "gap, thread \(row.thread), \(row.from) to \(row.to), lost \(row.births) births, \(row.deaths) deaths, "
      + "\(row.others) others, reason \(row.reason)"
  }

  static func line(_ row: TaskRecord) -> String { "task \(row.id), parent \(row.parent)" }

  static func line(_ row: TotalRecord) -> String {
    "total, type \(row.type), generation \(row.generation), \(row.births) births, \(row.bytes) bytes"
  }

  static func line(_ row: RecordingRecord) -> String { "recording \(row.goesOn ? "goes on" : "paused") at \(row.time)" }

  static func line(_ row: EndRecord) -> String { "\(row.key) = \(row.value)" }

  /// One event: its number, its ticks, who, what, which object.
  static func line(_ batch: borrowing EventBatch, _ index: Int) -> String {
    let kind = batch.kind(index)
    var text = "\(batch.firstIndex &+ UInt64(index)) at \(batch.times[index]), thread \(batch.threads[index])"
    if batch.tasks[index] != 0 { text += ", task \(batch.tasks[index])" }
    text += ": \(word(kind))"
    text += batch.serials[index] == 0 ? " of an unknown object" : " @\(batch.serials[index])"
    if batch.addresses[index] != 0 { text += " at \(hex(batch.addresses[index]))" }
    if kind == .birth { text += ", site \(batch.sites[index]), generation \(batch.generations[index])" }
    if kind == .moved, batch.objects[index] >= 0 { text += ", now site \(batch.sites[index])" }
    if hasStack(batch, index) { text += ", stack \(batch.stacks[index])" }
    if hasAmount(batch, index) {
      let amount = batch.amounts[index]
      text += ", flavour \(amount.flavour), amount \(amount.amount)"
      if let before = amount.countBefore { text += ", count before \(before)" }
    }
    return text
  }

  static func hasStack(_ batch: borrowing EventBatch, _ index: Int) -> Bool { batch.kinds[index] & 0x40 != 0 }
  static func hasAmount(_ batch: borrowing EventBatch, _ index: Int) -> Bool { batch.kinds[index] & 0x80 != 0 }

  /// The word as one of a document's.
  static func key(_ kind: EventKind) -> String { word(kind).replacing(" ", with: "_") }

  private static func word(_ kind: EventKind) -> String {
    let words = [
      "kind 0", "birth", "death", "deinit ended", "free", "plain free", "retain", "release", "deinit begins", "moved",
      "end not seen",
    ]
    return Int(kind.rawValue) < words.count ? words[Int(kind.rawValue)] : "kind \(kind)"
  }

  private static func hex(_ value: UInt64) -> String { "0x" + String(value, radix: 16) }

  /// A text of the file on one line, whatever is in it.
  static func quoted(_ text: String) -> String { JSONValue.string(text).text }
}
