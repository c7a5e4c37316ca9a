// The document of `lifespan leaks --json`, and its JUnit form for CI. Schema: LifespanReport.docc/JSON.md.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

extension LeaksReport {
  func json() -> String {
    var text = ""
    let rows = groups.flatMap { group in group.rows.enumerated().map { (group, $0.offset, $0.element) } }
    let late: () -> [JSONValue.Member] = { self.closing }
    JSONDocument(parts: [
      .members(Preface.jsonHead(subject) + Preface.jsonEvents(subject)),
      .list(key: "leaks", count: rows.count) { self.value(rows[$0].0, rows[$0].2, isHead: rows[$0].1 == 0) },
      .list(key: "abandoned", count: abandoned.types.count) { self.value(self.abandoned.types[$0]) },
      .late(late),
    ]).write { text += $0 }
    return text
  }

  /// One row a type: the head's has what is true of the leak as a whole.
  private func value(_ group: LeakGroup, _ row: HeapRow, isHead: Bool) -> JSONValue {
    // The kind of a row is what the leak is; what its objects are stands in object_kind.
    var members = JSONValue.pairs([
      "type": .string(names.name(of: row.type)), "object_kind": .string(row.type.kind.description),
      "module": .string(names.module(of: row.type)), "count": .integer(Int64(row.count)), "bytes": .unsigned(row.bytes),
    ]).members
    members +=
      JSONValue.pairs([
        "kind": .string(group.kind.rawValue), "fingerprint": .string(group.fingerprint),
        "known": .bool(isKnown(group)), "toolchain": .bool(group.isToolchains), "head": .bool(isHead),
        "cycle": .array(isHead ? group.cycle.map { .string(HeapText.reference($0, names)) } : []),
        "allocated_by": isHead ? FrameJSON.stack(group.stack, names) : .array([]),
        "instances": .integer(Int64(isHead ? group.instances : 0)),
        "head_bytes": .unsigned(isHead ? group.headBytes : 0),
        "bytes_below": .unsigned(isHead ? group.belowBytes : 0),
        "count_below": .integer(Int64(isHead ? group.belowCount : 0)),
        "cycle_length": .integer(Int64(isHead ? group.cycleLength : 0)),
        "note": .optional(isHead ? group.examples.first.flatMap { $0.note.isEmpty ? nil : $0.note } : nil),
        "reason": .optional(isHead ? group.reason : nil),
        "examples": .array(isHead ? group.examples.map { .string(HeapText.number($0)) } : []),
      ]).members
    return .object(members)
  }

  private func value(_ type: AbandonedType) -> JSONValue {
    .object(
      TypeJSON.members(type.type, names)
        + JSONValue.pairs([
          "count": .integer(Int64(type.count)), "bytes": .unsigned(type.bytes),
          "per_generation": .array(type.perGeneration.dropLast().map { .integer(Int64($0)) }),
          "open": .integer(Int64(type.perGeneration.last ?? 0)), "retained_bytes": .unsigned(type.retainedBytes),
          "path": type.path.map { HeapJSON.path($0, names) } ?? .array([]), "head": .bool(type.isHead),
          "role": .string(type.role.rawValue), "toolchain": .bool(type.isToolchains),
          "allocated_by": FrameJSON.stack(type.stack, names),
        ]).members)
  }

  private var closing: [JSONValue.Member] {
    JSONValue.pairs([
      "suppressed": .array(
        suppressed.map {
          .pairs([
            "rule": .string("leak:" + $0.rule.pattern), "reason": .string($0.rule.reason),
            "count": .integer(Int64($0.count)), "bytes": .unsigned($0.bytes),
          ])
        }),
      "leaks_withheld": .optional(leaks.withheld), "abandoned_withheld": .optional(abandoned.withheld),
      "generations": .integer(Int64(abandoned.generations)),
      "evidence": HeapJSON.evidence(heap, subject),
    ]).members + Preface.jsonClosing(names)
  }

  /// One test case a kind of leak, so that a CI server shows each by its name; known ones are skipped.
  func junit() -> String {
    var suite = JUnitSuite(name: "leaks")
    for group in groups {
      let title = "\(names.name(of: group.head)) \(group.kind.rawValue) \(group.fingerprint)"
      if isKnown(group) || group.isToolchains {
        suite.add(title, skip: group.isToolchains ? "of the toolchain's own libraries" : "known")
      } else {
        let what = "\(Units.things(group.instances, "leak")), \(Units.bytes(Int64(clamping: group.totalBytes)))"
        let cycle = group.cycle.map { HeapText.reference($0, names) }
        let stack = StackText.lines(group.stack, names, style: TextStyle(), indent: 0)
        suite.add(title, failure: what, text: cycle + stack)
      }
    }
    for type in abandoned.types where type.isHead && !type.isToolchains {
      suite.add(
        "\(names.name(of: type.type)) abandoned",
        failure: "\(Units.things(type.count, "object")), \(Units.bytes(Int64(clamping: type.bytes)))",
        text: type.path.map { HeapText.lines($0, names, indent: 0, width: 1000) } ?? [])
    }
    for row in suppressed { suite.add("leak:\(row.rule.pattern)", skip: "\(row.count) suppressed: \(row.rule.reason)") }
    if let withheld = leaks.withheld { suite.add("leaks", skip: "can't be told: \(withheld)") }
    if let withheld = abandoned.withheld { suite.add("abandoned", skip: "can't be told: \(withheld)") }
    if suite.isEmpty { suite.add("no leaks") }
    return suite.text
  }
}

/// Pieces of the heap's documents.
enum HeapJSON {
  /// The root's words, then each step as `TYPE.property`, the object itself last.
  static func path(_ path: HeapPath, _ names: ReportNames) -> JSONValue {
    let steps = path.steps.enumerated().map { index, step in
      index == path.steps.count - 1 ? names.name(of: step.type) : HeapText.reference(step, names)
    }
    return .array(([HeapText.root(path.root)] + steps).map { .string($0) })
  }

  static func evidence(_ heap: Heap, _ subject: ReportSubject) -> JSONValue {
    let head = heap.graph.head
    return .pairs([
      "objects_checked": .unsigned(head.objectsChecked), "nodes": .integer(Int64(heap.nodeCount)),
      "roots": .integer(Int64(heap.rootCount(isFirm: true) + heap.rootCount(isFirm: false))),
      "roots_firm": .integer(Int64(heap.rootCount(isFirm: true))),
      "roots_maybe": .integer(Int64(heap.rootCount(isFirm: false))),
      "picture": .unsigned(UInt64(head.number)), "point": .string(HeapText.point(head, subject)),
      "timestamp_ns": .integer(head.time.rawValue), "pause_ns": .unsigned(head.pauseNanoseconds),
      "complete": .bool(head.isComplete), "notes": .array(head.notes.map { .string($0) }),
    ])
  }
}
