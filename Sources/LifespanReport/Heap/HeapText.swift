// Steps, references, paths and roots of the heap as text. Shared by the reports of leaks and holders and by the dot export.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// Words for the heap.
enum HeapText {
  /// `App.Node.next`; `App.Node + 24` where the property has no name.
  static func reference(_ step: HeapStep, _ names: ReportNames) -> String {
    let type = type(step, names)
    let label = label(step, names)
    if label.isEmpty { return "\(type) + \(step.offset)" }
    return label.hasPrefix("[") || label.contains(" ") ? "\(type) \(label)" : "\(type).\(label)"
  }

  /// `.next`, `[3]`, `+ 24`, and how it holds where that is not strongly.
  static func property(_ step: HeapStep, _ names: ReportNames) -> String {
    let label = label(step, names)
    let text: String
    if label.isEmpty {
      text = "+ \(step.offset)"
    } else {
      text = label.hasPrefix("[") || label.contains(" ") ? label : "." + label
    }
    let word = strength(step.strength)
    return word.isEmpty ? text : "\(text) (\(word))"
  }

  /// Nothing for one that holds: that a word only looks like a reference is told by the place that has no name.
  static func strength(_ strength: HeapStrength) -> String {
    switch strength {
    case .strong, .conservative: ""
    case .weak: "weak"
    case .unowned: "unowned"
    case .unmanaged: "unmanaged"
    }
  }

  /// `App.Node @12`.
  static func object(_ step: HeapStep, _ names: ReportNames) -> String { "\(type(step, names)) \(number(step))" }

  /// Its type, and what is known beyond that: `Foundation.__NSCFType (CFRunLoopTimer)`, `malloc 64 B (work item)`.
  static func type(_ step: HeapStep, _ names: ReportNames) -> String {
    let name = names.name(of: step.type)
    return note(step, names).map { "\(name) (\($0))" } ?? name
  }

  /// What is no type's, or one of CoreFoundation's, which all look the same, is told by the function that made it.
  static func maker(of step: HeapStep, _ names: ReportNames) -> String? {
    let name = step.type.name
    guard name.hasPrefix("malloc ") || name.hasSuffix("__NSCFType") else { return nil }
    return names.maker(of: step.stack)
  }

  /// `@12`; its address where the recorder does not know it.
  static func number(_ step: HeapStep) -> String { step.serial.map { "@\($0)" } ?? step.address.description }

  static func root(_ root: HeapRootStep?) -> String {
    guard let root else { return "no root" }
    let offset = root.offset == 0 ? "" : " + \(root.offset)"
    let thread = root.thread == .unknown ? "" : " of thread \(root.thread)"
    let maybe = root.isFirm ? "" : " (maybe a left-over)"
    if !root.label.isEmpty {
      // `stack of thread 3 "worker", frame App.run()` says it all.
      let kind = root.label.hasPrefix(word(root.kind)) ? "" : word(root.kind) + " "
      return "\(kind)\(root.label)\(offset)\(maybe)"
    }
    return "\(word(root.kind))\(thread)\(offset)\(maybe)"
  }

  static func word(_ kind: HeapRootKind) -> String {
    switch kind {
    case .global: "global"
    case .stack: "stack"
    case .register: "register"
    case .threadLocal: "thread-local"
    case .mapping: "mapped memory"
    case .inFlight: "in flight"
    case .unknown: "root"
    }
  }

  /// A step a line: the root, then each object with the property that leads on.
  static func lines(_ path: HeapPath, _ names: ReportNames, indent: Int, width: Int) -> [String] {
    let margin = String(repeating: " ", count: indent)
    let steps = path.steps.enumerated().map { index, step in
      let isLast = index == path.steps.count - 1
      return object(step, names) + (isLast ? "" : " " + property(step, names))
    }
    let head = path.root.map { [root($0)] } ?? []
    return cut(head + steps).map { margin + ShortNames.shortened($0, to: width - indent) }
  }

  /// Long lists are the same over and over: their middle is left out and counted.
  private static func cut(_ lines: [String]) -> [String] {
    let most = 40
    guard lines.count > most else { return lines }
    let rest = lines.count - most
    return lines.prefix(most / 2) + ["… \(Units.things(rest, "more step"))"] + lines.suffix(most / 2)
  }

  /// `picture of the heap at exit, 12.400 s: 12,345 objects and blocks, 3,210 roots; the program stood still for 1.2 ms`.
  static func picture(_ heap: Heap, _ subject: ReportSubject, width: Int) -> [String] {
    let head = heap.graph.head
    let firm = heap.rootCount(isFirm: true)
    let maybe = heap.rootCount(isFirm: false)
    let text =
      "picture of the heap \(point(head, subject)), \(Units.seconds(head.time.rawValue)): "
      + "\(Units.things(heap.nodeCount, "object or block", "objects and blocks")), "
      + "\(Units.things(firm, "root")) and \(Units.count(maybe)) maybe, "
      + "the program stood still for \(Units.moment(Int64(clamping: head.pauseNanoseconds)))"
    return TextStyle.wrapped(text, to: width)
  }

  static func point(_ head: HeapGraph.Head, _ subject: ReportSubject) -> String {
    switch head.point {
    case .exit: return "at exit"
    case .mark(let generation):
      let name = GenerationNames.name(of: generation, in: subject.information)
      return "at mark " + (name ?? generation.letters)
    case .request: return "on request"
    }
  }
}

extension Units {
  static func things(_ value: Int, _ one: String, _ many: String) -> String {
    "\(count(value)) \(value == 1 ? one : many)"
  }
}
