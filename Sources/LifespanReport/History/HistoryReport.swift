// The report of `lifespan history`: one object's events with counts and backtraces. Text and JSON.
import LifespanAnalysis
import LifespanTrace

/// One object's history, ready to be written.
public struct HistoryReport {
  let history: History
  let subject: ReportSubject
  var information: TraceInformation { subject.information }
  let names: ReportNames

  /// A report of an answer.
  public init(_ history: History, subject: ReportSubject, names: ReportNames) {
    self.history = history
    self.subject = subject
    self.names = names
  }

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    let events = options.limit.map { Array(history.events.prefix($0)) } ?? history.events
    if options.format == .json { return json(events) + "\n" }
    var lines = Preface.lines(subject, style: options.style)
    lines += about(history.object, style: options.style) + [""]
    for event in events { lines += text(event, style: options.style) }
    if history.events.isEmpty { lines.append("no event lies within the time looked at") }
    lines += options.rest(of: history.events.count, shown: events.count, "event")
    let type = history.object.type
    if type.kind.hasReferenceCount, !information.recordsReferenceCounts(of: type) {
      lines.append("retains and releases of this type were not recorded (record --events refcounts)")
    }
    if !history.others.isEmpty {
      let serials = history.others.map { "@\($0.serial)" }.joined(separator: " ")
      let earlier = history.earlierOthers
      let before = earlier > 0 ? "\(Units.count(earlier)) earlier ones, then " : ""
      lines.append("other objects that lay at this address: " + before + serials)
    }
    if history.object.died == nil { lines += Footnotes.ages(subject) }
    lines += Preface.closing(names, style: options.style)
    return options.style.text(lines)
  }

  private func about(_ object: ObjectRecord, style: TextStyle) -> [String] {
    let place = object.address.map { " at \($0)" } ?? ""
    let head = "@\(object.serial) \(names.name(of: object.type))\(place), \(Units.bytes(object.size.rawValue))"
    let generation = GenerationNames.name(of: object.generation, in: information)
    let state = ObjectsText.state(object.state)
    return [
      style.heading(ShortNames.shortened(head, to: style.width)),
      "\(state), born \(Units.moment(object.born.rawValue)), age \(Units.moment(object.age)), "
        + (generation.map { "generation \($0.printable)" } ?? "born after the last mark"),
    ]
  }

  private func text(_ event: History.Event, style: TextStyle) -> [String] {
    var words = ["#\(event.number)", Units.moment(event.time.rawValue), Self.word(event)]
    if event.change != 0 { words.append(Units.signed(Int64(event.change))) }
    if let count = event.countAfter { words.append("count \(Units.count(count))") }
    words.append("thread \(event.thread)")
    if let task = event.task { words.append("task \(task)") }
    if event.kind == .moved, let address = event.address { words.append("to \(address)") }
    if event.kind == .moved, let size = event.size { words.append("now \(Units.bytes(size.rawValue))") }
    let stack = event.stack == .none ? [] : StackText.lines(event.stack, names, style: style)
    return [style.heading(words.joined(separator: "  "))] + stack
  }

  private static func word(_ event: History.Event) -> String {
    let kind: String
    switch event.kind {
    case .birth: kind = "birth"
    case .retain: kind = "retain"
    case .release: kind = "release"
    case .deinitBegins: kind = "deinit begins"
    case .deinitEnded: kind = "deinit ended, memory kept by unowned references"
    case .death: kind = "death"
    case .free: kind = "memory freed"
    case .plainFree: kind = "freed by free()"
    case .moved: kind = "moved by realloc"
    case .endNotSeen: kind = "end not seen: the address was used again"
    }
    switch event.flavour {
    case nil, .strong: return kind
    case .weakLoad: return kind + " (weak reference read)"
    case .unownedLoad: return kind + " (unowned reference read)"
    case .tryRetain: return kind + " (tried)"
    case .devirtualised: return kind + " (direct deinit)"
    case .other: return kind + " (of an unknown flavour)"
    }
  }

  private func json(_ events: [History.Event]) -> String {
    var members = Preface.jsonHead(subject) + Preface.jsonEvents(subject)
    members +=
      JSONValue.pairs([
        "object": .object(ObjectsJSON.members(history.object, information, names)),
        "refcounts_recorded": .bool(information.recordsReferenceCounts(of: history.object.type)),
        "history": .array(events.map(value)),
        "others": .array(history.others.map { .unsigned($0.serial.rawValue) }),
        "earlier_others": .unsigned(history.earlierOthers),
      ]).members
    return JSONValue.object(members + Preface.jsonClosing(names)).text
  }

  private func value(_ event: History.Event) -> JSONValue {
    .pairs([
      "number": .integer(Int64(event.number)), "event": .string(Self.key(event.kind)),
      "flavour": .optional(event.flavour.map(Self.key)), "change": .integer(Int64(event.change)),
      "count_after": event.countAfter.map { .integer(Int64($0)) } ?? .null,
      "timestamp_ns": .integer(event.time.rawValue), "thread": .unsigned(UInt64(event.thread.rawValue)),
      "task": .optional(event.task?.rawValue), "address": .optional(event.address?.description),
      "size": event.size.map { .integer($0.rawValue) } ?? .null,
      "frames": FrameJSON.stack(event.stack, names), "stack_ending": .optional(names.ending(of: event.stack)),
    ])
  }

  private static func key(_ kind: History.Kind) -> String {
    switch kind {
    case .deinitBegins: return "deinit_begins"
    case .deinitEnded: return "deinit_ended"
    case .plainFree: return "plain_free"
    case .endNotSeen: return "end_not_seen"
    case .birth, .retain, .release, .death, .free, .moved: return kind.rawValue
    }
  }

  private static func key(_ flavour: History.Flavour) -> String {
    switch flavour {
    case .weakLoad: return "weak_load"
    case .unownedLoad: return "unowned_load"
    case .tryRetain: return "try"
    case .strong, .devirtualised, .other: return flavour.rawValue
    }
  }
}
