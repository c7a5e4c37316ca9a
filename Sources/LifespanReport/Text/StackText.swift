// Backtraces as lines, and objects grouped by the stack that made them. Used by generations, objects and history.
import LifespanAnalysis
import LifespanTrace

/// A backtrace as indented lines.
enum StackText {
  static func lines(_ stack: StackID, _ names: ReportNames, style: TextStyle, indent: Int = 4) -> [String] {
    let margin = String(repeating: " ", count: indent)
    var lines = names.frames(of: stack).map { frame in
      margin + ShortNames.shortened(frame.description, to: style.width - indent)
    }
    if let ending = names.ending(of: stack) { lines.append(margin + "(\(ending))") }
    return lines
  }
}

/// One block a stack: how many objects of which type it made, the stack, their numbers.
enum StackGroupsText {
  /// Blocks, at most, where no limit is asked for.
  static let groupsShown = 20
  /// Numbers of objects in one block, at most; `lifespan objects` lists them all.
  static let serialsShown = 8

  static func lines(_ list: ObjectList, _ names: ReportNames, _ options: ReportOptions) -> [String] {
    var lines: [String] = []
    let shown = list.groups.prefix(options.limit ?? groupsShown)
    for group in shown {
      let head = "\(Units.count(group.count)) × \(names.name(of: group.type)), \(Units.bytes(group.bytes.rawValue))"
      lines.append(options.style.heading(ShortNames.shortened(head, to: options.style.width)))
      lines += StackText.lines(group.stack, names, style: options.style)
      let serials = group.serials.prefix(serialsShown).map { "@\($0)" }.joined(separator: " ")
      let more = group.count > min(group.serials.count, serialsShown) ? " …" : ""
      if !serials.isEmpty { lines.append("    \(serials)\(more)") }
      lines.append("")
    }
    if lines.last == "" { lines.removeLast() }
    return lines + options.rest(of: list.groups.count, shown: shown.count, "stack")
  }
}
