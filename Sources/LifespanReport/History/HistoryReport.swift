// The report of `lifespan history`: one object's events with counts and backtraces. Text and JSON.
import LifespanAnalysis
import LifespanTrace

/// One object's history, ready to be written.
public struct HistoryReport {
  /// What is shown of it.
  public enum View: String, Sendable {
    /// Its events, one line each, in their order.
    case events
    /// The same with a backtrace below each.
    case backtraces
    /// How often each backtrace did what.
    case groups
    /// Retains without a release.
    case unpaired
    /// The release that began its deinit.
    case lastRelease
  }

  let history: History
  let subject: ReportSubject
  let view: View
  var information: TraceInformation { subject.information }
  let names: ReportNames

  /// A report of an answer.
  public init(_ history: History, subject: ReportSubject, names: ReportNames, view: View = .events) {
    self.history = history
    self.subject = subject
    self.names = names
    self.view = view
  }

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    let events = options.limit.map { Array(history.events.prefix($0)) } ?? history.events
    if options.format == .json { return json(events) + "\n" }
    var lines = Preface.lines(subject, style: options.style)
    lines += about(history.object, style: options.style) + [""]
    switch view {
    case .events: lines += table(events).tableLines(style: options.style)
    case .backtraces: for event in events { lines += text(event, style: options.style) }
    case .groups: lines += groupLines(options)
    case .unpaired: lines += unpairedLines(options.style)
    case .lastRelease: lines += lastReleaseLines(options.style)
    }
    if history.events.isEmpty { lines.append("no event lies within the time looked at") }
    if view == .events || view == .backtraces {
      lines += options.rest(of: history.events.count, shown: events.count, "event")
    }
    lines += misuses(options.style)
    let type = history.object.type
    if view != .unpaired, type.kind.hasReferenceCount, !information.recordsReferenceCounts(of: type) {
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

  // MARK: One line an event

  private static let columns = [
    GridColumn(key: "number", title: "#"), GridColumn(key: "event", title: "Event", isNumber: false, canShrink: true),
    GridColumn(key: "change", title: "±"), GridColumn(key: "count_after", title: "Count"),
    GridColumn(key: "timestamp_ns", title: "Time"), GridColumn(key: "thread", title: "Thread"),
    GridColumn(key: "task", title: "Task"),
    GridColumn(key: "caller", title: "Responsible caller", isNumber: false, canShrink: true),
  ]

  private func table(_ events: [History.Event]) -> Grid {
    var grid = Grid(columns: Self.columns)
    grid.rows = events.map { event in
      [
        .count(event.number), .word(Self.word(event)),
        .word(event.change == 0 ? "" : Units.signed(Int64(event.change))),
        .word(event.countAfter.map { Units.count($0) } ?? "-"), .moment(event.time.rawValue),
        .count(Int64(event.thread.rawValue)), .word(event.task.map { "\($0)" } ?? ""),
        .word(names.allocator(of: event.stack)?.function ?? "-"),
      ]
    }
    return events.contains { $0.task != nil } ? grid : grid.selecting(Self.columns.map(\.key).filter { $0 != "task" })
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

  static func word(_ event: History.Event) -> String {
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
    case .misuse: kind = word(event.misuse, left: event.left)
    }
    if event.isInDeinit { return kind + " (in its deinit)" }
    switch event.flavour {
    case nil, .strong: return kind
    case .weakLoad: return kind + " (weak reference read)"
    case .unownedLoad: return kind + " (unowned reference read)"
    case .tryRetain: return kind + " (tried)"
    case .devirtualised: return kind + " (direct deinit)"
    case .other: return kind + " (of an unknown flavour)"
    }
  }

  static func word(_ misuse: History.Misuse?, left: Int?) -> String {
    switch misuse {
    case .retained: return "retained after its deinit"
    case .released: return "released after its deinit"
    case .unownedRead: return "unowned reference read after its deinit"
    case .escaped: return "escaped from its deinit" + (left.map { " (\(Units.count($0)) left)" } ?? "")
    case .releasedBelowZero: return "released in its deinit more often than retained"
    case .other, nil: return "misused"
    }
  }

  /// What was done to it after its deinit had begun, once more: that is what a reader came for.
  private func misuses(_ style: TextStyle) -> [String] {
    let events = history.events.filter { $0.kind == .misuse }
    guard !events.isEmpty else { return [] }
    let words = events.prefix(8).map { "\(Self.word($0)) (#\($0.number))" }.joined(separator: ", ")
    return style.warning("misuse: " + words + (events.count > 8 ? ", …" : ""))
  }

  private func json(_ events: [History.Event]) -> String {
    var members = Preface.jsonHead(subject) + Preface.jsonEvents(subject)
    members +=
      JSONValue.pairs([
        "object": .object(ObjectsJSON.members(history.object, information, names)),
        "refcounts_recorded": .bool(information.recordsReferenceCounts(of: history.object.type)),
        "history": .array(events.map(value)),
        "groups": view == .groups ? .array(groups.map(value)) : .null,
        "unpaired": view == .unpaired ? value(pairing) : .null,
        "last_release": lastRelease.map { .integer(Int64($0.number)) } ?? .null,
        "others": .array(history.others.map { .unsigned($0.serial.rawValue) }),
        "earlier_others": .unsigned(history.earlierOthers),
      ]).members
    return JSONValue.object(members + Preface.jsonClosing(names)).text
  }

  private func value(_ event: History.Event) -> JSONValue {
    .pairs([
      "number": .integer(Int64(event.number)), "event": .string(Self.key(event.kind)),
      "flavour": .optional(event.flavour.map(Self.key)), "misuse": .optional(event.misuse.map(Self.key)),
      "left": event.left.map { .integer(Int64($0)) } ?? .null, "in_deinit": .bool(event.isInDeinit),
      "change": .integer(Int64(event.change)),
      "count_after": event.countAfter.map { .integer(Int64($0)) } ?? .null,
      "timestamp_ns": .integer(event.time.rawValue), "thread": .unsigned(UInt64(event.thread.rawValue)),
      "task": .optional(event.task?.rawValue), "address": .optional(event.address?.description),
      "size": event.size.map { .integer($0.rawValue) } ?? .null,
      "caller": .optional(names.allocator(of: event.stack)?.function),
      "frames": FrameJSON.stack(event.stack, names), "stack_ending": .optional(names.ending(of: event.stack)),
    ])
  }

  private static func key(_ kind: History.Kind) -> String {
    switch kind {
    case .deinitBegins: return "deinit_begins"
    case .deinitEnded: return "deinit_ended"
    case .plainFree: return "plain_free"
    case .endNotSeen: return "end_not_seen"
    case .birth, .retain, .release, .death, .free, .moved, .misuse: return kind.rawValue
    }
  }

  private static func key(_ misuse: History.Misuse) -> String {
    switch misuse {
    case .unownedRead: return "unowned_read"
    case .releasedBelowZero: return "released_below_zero"
    case .retained, .released, .escaped, .other: return misuse.rawValue
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
