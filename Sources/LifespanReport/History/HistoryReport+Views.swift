// The other views of one object's history: grouped by backtrace, retains without a release, the release that ended it.
import LifespanAnalysis
import LifespanTrace

/// What one backtrace did to an object.
struct HistoryGroup {
  let stack: StackID
  var events: [History.Event] = []

  var retains: Int { sum { $0 > 0 } }
  var releases: Int { -sum { $0 < 0 } }
  var change: Int { events.reduce(0) { $0 + $1.change } }

  private func sum(_ wanted: (Int) -> Bool) -> Int { events.map(\.change).filter(wanted).reduce(0, +) }
}

extension HistoryReport {
  /// Largest first; those without a stack together.
  var groups: [HistoryGroup] {
    var places: [StackID: Int] = [:]
    var groups: [HistoryGroup] = []
    for event in history.events {
      let place = places[event.stack] ?? groups.count
      if place == groups.count {
        places[event.stack] = place
        groups.append(HistoryGroup(stack: event.stack))
      }
      groups[place].events.append(event)
    }
    return groups.enumerated().sorted { one, other in
      (other.element.events.count, one.offset) < (one.element.events.count, other.offset)
    }
    .map(\.element)
  }

  func groupLines(_ options: ReportOptions) -> [String] {
    let groups = groups
    let shown = groups.prefix(options.limit ?? groups.count)
    var lines: [String] = []
    for group in shown {
      lines.append(options.style.heading(Self.head(group)))
      lines += TextStyle.wrapped(Self.kinds(group), to: options.style.width)
      lines += StackText.lines(group.stack, names, style: options.style)
    }
    return lines + options.rest(of: groups.count, shown: shown.count, "backtrace")
  }

  private static func head(_ group: HistoryGroup) -> String {
    var words = [Units.things(group.events.count, "event")]
    if group.retains > 0 { words.append("\(Units.signed(Int64(group.retains)))") }
    if group.releases > 0 { words.append("\(Units.signed(-Int64(group.releases)))") }
    if group.retains > 0, group.releases > 0 { words.append("together \(Units.signed(Int64(group.change)))") }
    let first = group.events.first?.time.rawValue ?? 0
    let last = group.events.last?.time.rawValue ?? 0
    let time = first == last ? Units.moment(first) : "\(Units.moment(first)) to \(Units.moment(last))"
    return words.joined(separator: ", ") + ": " + time
  }

  private static func kinds(_ group: HistoryGroup) -> String {
    Set(group.events.map { word($0) }).sorted().joined(separator: ", ")
  }

  // MARK: Unpaired

  var pairing: ReferencePairing {
    history.pairing { names.frames(of: $0).map(\.function) }
  }

  func unpairedLines(_ style: TextStyle) -> [String] {
    let type = history.object.type
    if type.kind.hasReferenceCount, !information.recordsReferenceCounts(of: type) {
      return style.warning(
        "nothing can be told of them: its retains and releases were not recorded (record --events refcounts)")
    }
    let pairing = pairing
    let left = pairing.retains.reduce(0) { $0 + $1.count }
    var lines = ["\(Units.things(pairing.paired, "retain")) and as many releases belong together"]
    if pairing.pairedByOrder > 0 {
      lines += style.warning(
        "\(Units.things(pairing.pairedByOrder, "pair")) of these only by their order: the holders below are likely, not sure"
      )
    }
    if !pairing.releases.isEmpty {
      lines += style.warning(
        "\(Units.things(pairing.releases.reduce(0) { $0 + $1.count }, "release")) without a retain: earlier events are missing"
      )
    }
    lines.append(
      left == 0 ? "no retain is left without a release" : "\(Units.things(left, "reference")) without a release:")
    for one in pairing.retains {
      let times = one.count > 1 ? " × \(one.count)" : ""
      let event = "#\(one.event.number)  \(Units.moment(one.event.time.rawValue))  \(Self.word(one.event))\(times)"
      let holder = one.holder.map { "  held by \(Self.word($0))" } ?? ""
      lines.append(style.heading(ShortNames.shortened(event + holder, to: style.width)))
      lines += StackText.lines(one.event.stack, names, style: style)
    }
    return lines
  }

  private static func word(_ holder: ReferencePairing.Holder) -> String {
    switch holder {
    case .property(let name): return "the stored property \(name)"
    case .member(let type): return "a property of \(type), set in its init"
    case .container(let kind, let function): return "\(kind == "Array" ? "an" : "a") \(kind), put there in \(function)"
    case .function(let name): return "what \(name) took"
    }
  }

  // MARK: Last release

  /// The release that began the deinit; nil of an object that lives.
  var lastRelease: History.Event? {
    guard let begins = history.events.last(where: { $0.kind == .deinitBegins }) else { return nil }
    return history.events.last { $0.kind == .release && $0.number == begins.number }
  }

  func lastReleaseLines(_ style: TextStyle) -> [String] {
    if let last = lastRelease {
      var words = ["#\(last.number)", Units.moment(last.time.rawValue), Self.word(last), "thread \(last.thread)"]
      if let task = last.task { words.append("task \(task)") }
      return [style.heading(words.joined(separator: "  "))] + StackText.lines(last.stack, names, style: style)
    }
    guard let last = history.events.last(where: { $0.countAfter != nil }), history.object.died == nil else {
      return ["its last release is not in the recording"]
    }
    return ["it lives: \(Units.things(last.countAfter ?? 0, "strong reference"))"]
  }

  // MARK: JSON

  func value(_ group: HistoryGroup) -> JSONValue {
    .pairs([
      "events": .array(group.events.map { .integer(Int64($0.number)) }), "retains": .integer(Int64(group.retains)),
      "releases": .integer(Int64(group.releases)), "change": .integer(Int64(group.change)),
      "frames": FrameJSON.stack(group.stack, names), "stack_ending": .optional(names.ending(of: group.stack)),
    ])
  }

  func value(_ pairing: ReferencePairing) -> JSONValue {
    .pairs([
      "paired": .integer(Int64(pairing.paired)), "paired_by_order": .integer(Int64(pairing.pairedByOrder)),
      "retains": .array(pairing.retains.map(value)), "releases": .array(pairing.releases.map(value)),
    ])
  }

  private func value(_ unpaired: ReferencePairing.Unpaired) -> JSONValue {
    .pairs([
      "number": .integer(Int64(unpaired.event.number)), "count": .integer(Int64(unpaired.count)),
      "holder": .optional(unpaired.holder.map { Self.word($0) }),
      "holder_kind": .optional(unpaired.holder.map(Self.key)),
      "holder_name": .optional(unpaired.holder.map(Self.name)),
    ])
  }

  private static func key(_ holder: ReferencePairing.Holder) -> String {
    switch holder {
    case .property: return "property"
    case .member: return "member"
    case .container: return "container"
    case .function: return "function"
    }
  }

  private static func name(_ holder: ReferencePairing.Holder) -> String {
    switch holder {
    case .property(let name), .member(let name), .function(let name): return name
    case .container(_, let function): return function
    }
  }
}
