// The text of a failure: limit, count, the offending types with the stack of one of each and what holds it, what was not counted, the
// trace. Made by every assertion that fails.
internal import Foundation
import Lifespan

struct Message {
  private var lines: [String]

  init(_ headline: String) { lines = [headline] }

  var text: String { lines.joined(separator: "\n") }

  mutating func add(_ line: String) { lines.append(line) }

  /// Offenders of more types than this are only counted.
  static let mostTypes = 5
  static let mostFrames = 12
  static let mostSerials = 8

  #if Recording
  /// The offending types, one stack of each, and what holds that one.
  mutating func add(_ groups: [Survivors.Group], _ trace: KeptTrace?, extra: (Survivors.Group) -> String = { _ in "" })
  {
    var notes: [String] = []
    for group in groups.prefix(Self.mostTypes) {
      addHead(of: group, extra(group))
      addStack(group, trace, &notes)
      addHolder(group, &notes)
    }
    if groups.count > Self.mostTypes { add("  and \(groups.count - Self.mostTypes) more types") }
    for note in notes { add("  " + note) }
  }

  mutating func addHead(of group: Survivors.Group, _ extra: String = "") {
    let serials =
      group.serials.prefix(Self.mostSerials).map { "@\($0)" } + (group.serials.count > Self.mostSerials ? ["…"] : [])
    add("  \(group.count) × \(group.type), \(group.bytes) B\(extra): \(serials.joined(separator: " "))")
  }

  mutating func addStack(_ group: Survivors.Group, _ trace: KeptTrace?, _ notes: inout [String]) {
    add("    allocated by")
    let (frames, note) = Frames.of(serial: group.serials.first ?? 0, stack: group.stack, trace)
    for frame in frames.prefix(Self.mostFrames) { add("      " + frame) }
    if frames.count > Self.mostFrames { add("      and \(frames.count - Self.mostFrames) more frames") }
    if frames.isEmpty { add("      a stack that was not recorded") }
    if let note, !notes.contains(note) { notes.append(note) }
  }

  private mutating func addHolder(_ group: Survivors.Group, _ notes: inout [String]) {
    let (path, note) = HoldingPath.of(inverted: group.inverted)
    if let path { add("    held by \(path)") }
    if let note, !notes.contains(note) { notes.append(note) }
  }
  #endif

  /// What is not in the count.
  mutating func addUncounted(_ survivors: Survivors) {
    for one in survivors.elsewhere.prefix(Self.mostTypes) {
      let threads = one.threads.map(String.init).joined(separator: ", ")
      add(
        "  not counted: \(one.count) × \(one.type), born meanwhile outside of this test's tasks "
          + "(thread\(one.threads.count == 1 ? "" : "s") \(threads))")
    }
    for (reason, count) in survivors.known.sorted(by: { $0.key < $1.key }) {
      add("  not counted: \(count) known to stay: \(reason)")
    }
  }

  mutating func add(_ trace: KeptTrace?) { if let trace { add(trace.line) } }
}
