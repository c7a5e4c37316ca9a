// One record of a trace as one JSON object of `lifespan dump --json`. Like the lines, they say what stands in the file and
// interpret nothing. Schema: LifespanReport.docc/JSON.md.
import LifespanSymbols
import LifespanTrace

/// The object of each kind of record.
enum DumpJSON {
  static func value(_ header: TraceHeader) -> JSONValue {
    .pairs([
      "minor": .unsigned(UInt64(header.minor)), "clock": .unsigned(UInt64(header.clock)),
      "architecture": .unsigned(UInt64(header.architecture)), "capture": .unsigned(UInt64(header.capture)),
      "door": .unsigned(UInt64(header.door)), "pid": .unsigned(UInt64(header.pid)),
      "parent_pid": .unsigned(UInt64(header.parentPID)), "page_size": .unsigned(UInt64(header.pageSize)),
      "ticks_per_second": .unsigned(header.ticksPerSecond), "ticks_per_unit": .unsigned(UInt64(header.ticksPerUnit)),
      "start_ticks": .unsigned(UInt64(header.startTicks)), "start_realtime_ns": .unsigned(UInt64(header.startRealtime)),
    ])
  }

  static func value(_ chunk: TraceReader.Chunk) -> JSONValue {
    record(
      "chunk",
      [
        "byte": .unsigned(UInt64(chunk.offset)), "kind": .string("\(chunk.header.kind)"),
        "version": .unsigned(UInt64(chunk.header.version)), "raw_bytes": .unsigned(UInt64(chunk.header.rawLength)),
        "stored_bytes": .unsigned(UInt64(chunk.header.storedLength)),
      ])
  }

  static func value(_ row: InfoRecord) -> JSONValue {
    record("info", ["key": .string(row.key), "value": .string(row.value)])
  }

  static func value(_ row: ImageRecord) -> JSONValue {
    record(
      "image",
      [
        "id": number(row.id), "load": .bool(row.isLoad), "epoch": number(row.epoch), "bias": hex(row.bias),
        "start": hex(row.start), "end": hex(row.end), "build_id": .string("\(BuildID(row.buildID))"),
        "path": .string(row.path),
      ])
  }

  static func value(_ row: StackNode) -> JSONValue {
    record(
      "stack",
      [
        "id": number(row.id), "parent": number(row.parent), "pc": hex(row.pc.rawValue), "epoch": number(row.epoch),
        "label": .unsigned(UInt64(row.end.rawValue)),
      ])
  }

  static func value(_ row: TypeRecord) -> JSONValue {
    record(
      "type",
      [
        "id": number(row.id), "kind": .string("\(row.kind)"), "name": .string(row.name), "metadata": hex(row.metadata),
        "size": .unsigned(row.instanceSize), "superclass": number(row.superclass), "caller": hex(row.caller.rawValue),
        "flags": .unsigned(row.flags),
      ])
  }

  static func value(_ row: ThreadRecord) -> JSONValue {
    record(
      "thread",
      [
        "thread": number(row.thread), "tid": .unsigned(UInt64(row.tid)), "op": .unsigned(UInt64(row.op.rawValue)),
        "ticks": .integer(row.time.rawValue), "name": .string(row.name),
      ])
  }

  static func value(_ row: ThreadOriginRecord) -> JSONValue {
    record(
      "thread_origin",
      [
        "thread": number(row.thread), "creator": number(row.creator), "stack": number(row.stack),
        "start": hex(row.start), "ticks": .integer(row.time.rawValue), "stack_bytes": .unsigned(row.stackBytes),
      ])
  }

  static func value(_ row: SampleRecord) -> JSONValue {
    record(
      "sample",
      [
        "ticks": .integer(row.time.rawValue), "flags": .unsigned(row.flags),
        "resident": .integer(row.resident.rawValue), "anonymous": .integer(row.anonymous.rawValue),
        "swapped": .integer(row.swapped.rawValue), "heap_resident": .integer(row.heapResident.rawValue),
        "heap_swapped": .integer(row.heapSwapped.rawValue), "living_count": .unsigned(row.livingCount),
        "living_bytes": .integer(row.livingBytes.rawValue),
        "living_footprint": .integer(row.livingFootprint.rawValue),
      ])
  }

  static func value(_ row: SiteRecord, number index: Int) -> JSONValue {
    record(
      "site",
      [
        "number": .integer(Int64(index)), "type": number(row.type), "stack": number(row.stack),
        "size": .integer(row.size.rawValue),
      ])
  }

  static func value(_ row: MarkRecord) -> JSONValue {
    record(
      "mark",
      [
        "closes": number(row.closes), "ticks": .integer(row.time.rawValue), "first_event": .unsigned(row.firstEvent),
        "name": .string(row.name),
      ])
  }

  static func value(_ row: GapRecord) -> JSONValue {
    record(
      "gap",
      [
        "thread": number(row.thread), "from": .integer(row.from.rawValue), "to": .integer(row.to.rawValue),
        "births": .unsigned(row.births), "deaths": .unsigned(row.deaths), "others": .unsigned(row.others),
        "reason": .unsigned(row.reason),
      ])
  }

  static func value(_ row: TaskRecord) -> JSONValue {
    record("task", ["id": .unsigned(row.id.rawValue), "parent": .unsigned(row.parent.rawValue)])
  }

  static func value(_ row: TotalRecord) -> JSONValue {
    record(
      "total",
      [
        "type": number(row.type), "generation": number(row.generation), "births": .unsigned(row.births),
        "bytes": .unsigned(row.bytes),
      ])
  }

  static func value(_ row: RecordingRecord) -> JSONValue {
    record("recording", ["ticks": .integer(row.time.rawValue), "goes_on": .bool(row.goesOn)])
  }

  static func value(_ row: EndRecord) -> JSONValue {
    record("end", ["key": .string(row.key), "value": .unsigned(row.value)])
  }

  /// One event; members that its kind does not have are left out.
  static func value(_ batch: borrowing EventBatch, _ index: Int) -> JSONValue {
    let kind = batch.kind(index)
    func member(_ key: String, _ value: JSONValue) -> JSONValue.Member { .init(key: key, value: value) }
    var members = [
      member("record", .string("event")), member("number", .unsigned(batch.firstIndex &+ UInt64(index))),
      member("event", .string(DumpLines.key(kind))), member("ticks", .integer(batch.times[index])),
      member("thread", .unsigned(UInt64(batch.threads[index]))),
    ]
    if batch.tasks[index] != 0 { members.append(member("task", .unsigned(batch.tasks[index]))) }
    // 0: an object that the file does not know.
    members.append(member("serial", .unsigned(batch.serials[index])))
    if batch.addresses[index] != 0 { members.append(member("address", hex(batch.addresses[index]))) }
    if kind == .birth {
      members.append(member("site", .unsigned(UInt64(batch.sites[index]))))
      members.append(member("generation", .unsigned(UInt64(batch.generations[index]))))
    }
    if kind == .moved, batch.objects[index] >= 0 {
      members.append(member("site", .unsigned(UInt64(batch.sites[index]))))
    }
    if DumpLines.hasStack(batch, index) { members.append(member("stack", .unsigned(UInt64(batch.stacks[index])))) }
    if DumpLines.hasAmount(batch, index) {
      let amount = batch.amounts[index]
      members.append(member("flavour", .unsigned(UInt64(amount.flavour))))
      members.append(member("amount", .unsigned(UInt64(amount.amount))))
      members.append(member("count_before", .optional(amount.countBefore.map { UInt64($0) })))
    }
    return .object(members)
  }

  static func record(_ kind: String, _ pairs: KeyValuePairs<String, JSONValue>) -> JSONValue {
    .object([.init(key: "record", value: .string(kind))] + JSONValue.pairs(pairs).members)
  }

  private static func number(_ id: some RawRepresentable<UInt32>) -> JSONValue { .unsigned(UInt64(id.rawValue)) }
  private static func hex(_ value: UInt64) -> JSONValue { .string("0x" + String(value, radix: 16)) }
}
