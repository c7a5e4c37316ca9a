// What makes the numbers of a report less than complete, or other than a reader would think: the sentences before its first
// row, the `notes` of a document.
import LifespanAnalysis
import LifespanTrace

extension Preface {
  /// One sentence each, the worst first.
  public static func notes(_ subject: ReportSubject) -> [String] {
    let information = subject.information
    var notes = capture(information)
    if information.lost.total > 0 { notes.append(lost(information)) }
    if information.gaps.contains(where: { $0.reason == .sizeLimit }) {
      notes.append("what lives did not fit into the trace any more (--max-size): some births were not recorded")
    }
    if information.capture != .complete { notes += unseen(information) }
    let ending = information.ending.sentence
    // A file that is being written has no end yet; that is no fault of it.
    if !ending.isEmpty, !subject.isRunning { notes.append("trace: " + ending) }
    notes += process(information)
    if let types = information.recordedTypes { notes.append("recorded: " + types) }
    if information.wasPaused { notes.append("paused: objects born while recording was off are not in it") }
    if information.olderEventsDropped > 0 {
      notes.append("older events of kept objects are not in this file: \(Units.count(information.olderEventsDropped))")
    }
    notes += counts(subject)
    notes += subject.ambiguousMarks.map { mark in
      "\(Units.count(mark.count)) marks are called '\(mark.name.printable)': the one set at \(Units.seconds(mark.time.rawValue)) "
        + "is meant here"
    }
    return notes
  }

  private static func capture(_ information: TraceInformation) -> [String] {
    guard information.capture == .complete else {
      let word = information.capture == .none ? "not said by the recorder" : information.capture.rawValue
      let reason = information.captureReason
      return ["capture: \(word)" + (reason.isEmpty ? "" : ": \(reason)")]
    }
    return unseen(information).map { "capture: \(information.effectiveCapture.rawValue): \($0)" }
  }

  private static func unseen(_ information: TraceInformation) -> [String] {
    let count = information.endsNotSeen
    guard count > 0 else { return [] }
    return [
      "\(Units.things(count, "object")) ended unseen, in memory that was used again: until then "
        + "\(count == 1 ? "it counts" : "they count") as living"
    ]
  }

  private static func counts(_ subject: ReportSubject) -> [String] {
    let information = subject.information
    var notes: [String] = []
    let unknown = information.unknownDeaths
    if unknown > 0 {
      notes.append(
        "\(Units.things(unknown, "object")) died whose birth is not in the recording: \(unknown == 1 ? "it is" : "they are") "
          + "in no count")
    }
    if let note = discarded(subject) { notes.append(note) }
    let stacks = information.stacksFull
    if stacks > 0 {
      notes.append("\(Units.things(stacks, "stack")) \(was(stacks)) not kept: the table of stacks was full")
    }
    let alike = information.stacksEqual &+ information.stacksGuessed
    let differing = information.stacksChecked &- min(alike, information.stacksChecked)
    if differing > 0 {
      notes.append(
        "\(Units.count(differing)) of \(Units.things(information.stacksChecked, "checked stack")) "
          + "\(differing == 1 ? "differs" : "differ") from libunwind's")
    }
    return notes
  }

  /// Objects that died and were discarded, and what that means for this report.
  private static func discarded(_ subject: ReportSubject) -> String? {
    let objects = Units.things(subject.discarded, "object")
    let effect = subject.countsDiscarded ? "counted by type, not listed, without history" : "in no count of this report"
    if let discarded = subject.information.discarded {
      let time = Units.tenths(discarded.before.rawValue)
      return "events of what died before \(time) were discarded (\(discarded.by))"
        + (subject.discarded > 0 ? ": \(objects), " + effect : "")
    }
    guard subject.discarded > 0 else { return nil }
    return "\(objects) that died \(was(subject.discarded)) discarded while recording: " + effect
  }

  private static func was(_ number: UInt64) -> String { number == 1 ? "was" : "were" }

  private static func lost(_ information: TraceInformation) -> String {
    let lost = information.lost
    var text = "\(Units.things(lost.total, "event")) \(was(lost.total)) lost (\(Units.things(lost.births, "birth")), "
    text += "\(Units.things(lost.deaths, "death")), \(Units.things(lost.others, "other"))): "
    var effects: [String] = []
    if lost.births > 0 { effects.append("totals may be too small by the births") }
    if lost.deaths > 0 { effects.append("living counts may be too large by the deaths") }
    text += effects.isEmpty ? "histories may have holes" : effects.joined(separator: ", ")
    guard let first = information.gaps.map(\.from).min(), let last = information.gaps.map(\.to).max() else {
      return text
    }
    return text + "; between \(Units.seconds(first.rawValue)) and \(Units.seconds(last.rawValue))"
  }
}

/// Lines below a table.
enum Footnotes {
  /// Objects that were deinitialised and whose memory is still there.
  static func kept(_ count: Int, _ bytes: ByteCount) -> [String] {
    guard count > 0 else { return [] }
    let verb = count == 1 ? "holds" : "hold"
    return [
      "\(Units.things(count, "deinited object")) still \(verb) \(Units.bytes(bytes.rawValue)) (unowned references)"
    ]
  }

  /// Counts of retains and releases: what they leave out, and what would mend it.
  static func references(of types: [TypeIdentity], _ information: TraceInformation) -> [String] {
    let counted = types.filter { $0.kind.hasReferenceCount }
    let recorded = counted.filter { information.recordsReferenceCounts(of: $0) }
    if information.info["discarded.by"] != nil || information.olderEventsDropped > 0, !recorded.isEmpty {
      return ["older retains and releases are in this recording no more: they are not counted"]
    }
    guard recorded.count < counted.count else { return [] }
    let which = recorded.isEmpty ? "" : " of some types"
    return ["retains and releases\(which) were not recorded (record --events refcounts)"]
  }

  /// Ages in a recording without an end: nobody knows for how long its objects lived on.
  static func ages(_ subject: ReportSubject) -> [String] {
    guard subject.information.isCut, !subject.isRunning else { return [] }
    return [
      "the recording was cut: ages count to its last event, at \(Units.seconds(subject.information.end.rawValue))"
    ]
  }

  /// Why a table has no rows; `total` of the rows that a limit may have cut. Empty where it has some.
  static func empty(
    shown: Int, of total: Int, isFiltered: Bool, nothingAtAll: Bool, lifespan: LifespanFilter = .all
  ) -> [String] {
    guard shown == 0, total == 0 else { return [] }
    if isFiltered { return ["no type passes the filters"] }
    if nothingAtAll { return ["nothing was recorded"] }
    return [lifespan == .living ? "nothing lives (--lifespan all shows what was made)" : "nothing was destroyed"]
  }
}

/// The words of summary rows.
enum SummaryWord {
  static let swiftObjects = "Swift objects"
  static let blocks = "malloc"

  /// The sum of a kind that is no memory of the heap.
  static func of(_ kind: ObjectKind) -> String {
    switch kind {
    case .token: "tokens"
    case .vm: "VM regions"
    default: "threads"
    }
  }

  /// The sum of everything: a recording without the blocks of malloc has nothing but Swift objects.
  static func all(isFiltered: Bool, _ information: TraceInformation) -> String {
    isFiltered ? "all of these" : information.recordsMalloc ? "all heap" : swiftObjects
  }
}
