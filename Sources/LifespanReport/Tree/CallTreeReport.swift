// The report of `lifespan tree`: who called whom until something was allocated. Text and JSON.
import LifespanAnalysis
import LifespanTrace

/// A call tree, ready to be written.
public struct CallTreeReport {
  private let sites: AllocationSites
  private let subject: ReportSubject
  private let names: ReportNames
  private let tree: CallTree
  private let options: CallTreeOptions
  /// Functions with less than so many thousandths of all are summed up in one line.
  private let leastShare: Int

  /// Keys that `--sort` takes.
  public static let sortKeys = ["bytes", "count"]

  /// A report of an answer. `leastShare`: in thousandths. `threads`: their names.
  public init(
    _ sites: AllocationSites, options: CallTreeOptions, leastShare: Int, subject: ReportSubject, names: ReportNames,
    threads: ThreadList? = nil
  ) {
    self.sites = sites
    self.subject = subject
    self.names = names
    self.options = options
    self.leastShare = leastShare
    tree = CallTree(sites.named(names), lifespan: sites.lifespan, options: options, threads: ThreadNames(threads))
  }

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    let byCount = options.sort == "count"
    func isMore(_ one: CallWeight, _ other: CallWeight) -> Bool {
      byCount
        ? (one.count, one.bytes) > (other.count, other.bytes) : (one.bytes, one.count) > (other.bytes, other.count)
    }
    func share(_ weight: CallWeight) -> Int {
      let whole = byCount ? Int64(tree.root.total.count) : tree.root.total.bytes
      let part = byCount ? Int64(weight.count) : weight.bytes
      return whole <= 0 ? 0 : Int(UInt64(clamping: part) &* 1000 / UInt64(whole))
    }
    let writer = Writer(isMore: isMore, share: share, leastShare: leastShare, style: options.style)
    return options.format == .json ? json(writer) : text(writer, options)
  }

  // MARK: Text

  private func text(_ writer: Writer, _ options: ReportOptions) -> String {
    var lines = Preface.lines(subject, style: options.style)
    lines.insert(headline, at: lines.count - 1)
    var rows = writer.lines(of: tree.root)
    let all = rows.count
    if let limit = options.limit { rows = Array(rows.prefix(limit)) }
    if tree.root.total == CallWeight() {
      lines.append("nothing was allocated there")
    } else {
      lines.append(options.style.heading(Writer.title))
      lines += rows
    }
    lines += options.rest(of: all, shown: rows.count, "line")
    lines += remarks
    return options.style.text(lines + Preface.closing(names, style: options.style))
  }

  private var headline: String {
    let what = "\(Units.bytes(tree.root.total.bytes)) in \(Units.things(tree.root.total.count, "object"))"
    let order =
      options.isInverted ? "from the functions that allocate to their callers" : "from the outermost functions"
    return "\(sites.lifespan.rawValue): \(what), \(order)"
  }

  /// What is not in the tree.
  private var remarks: [String] {
    func line(_ weight: CallWeight, _ why: String) -> [String] {
      weight == CallWeight()
        ? [] : ["not in the tree: \(Units.things(weight.count, "object")), \(Units.bytes(weight.bytes)), \(why)"]
    }
    let (count, bytes) = sites.withoutStack.weight(of: sites.lifespan)
    return line(tree.pruned, "pruned") + line(tree.outOfFocus, "out of focus")
      + line(CallWeight(count: count, bytes: bytes), "whose stacks were discarded while recording")
  }

  // MARK: JSON

  private func json(_ writer: Writer) -> String {
    func weight(_ weight: CallWeight) -> JSONValue {
      .pairs(["count": .integer(Int64(weight.count)), "bytes": .integer(weight.bytes)])
    }
    let (count, bytes) = sites.withoutStack.weight(of: sites.lifespan)
    let members =
      Preface.jsonHead(subject) + JSONValue.pairs(["lifespan": .string(sites.lifespan.rawValue)]).members
      + Preface.jsonEvents(subject)
      + JSONValue.pairs([
        "inverted": .bool(options.isInverted), "total": weight(tree.root.total),
        "not_shown": .pairs([
          "pruned": weight(tree.pruned), "out_of_focus": weight(tree.outOfFocus),
          "discarded": weight(CallWeight(count: count, bytes: bytes)),
        ]),
        "tree": .array(writer.values(below: tree.root)),
      ]).members
    return JSONValue.object(members + Preface.jsonClosing(names)).text + "\n"
  }
}

/// Walks a tree in the order in which it is shown.
private struct Writer {
  let isMore: (CallWeight, CallWeight) -> Bool
  let share: (CallWeight) -> Int
  let leastShare: Int
  let style: TextStyle

  static let title = "     Bytes       %      Count  Function"
  private static let numbers = 31

  /// Children that are shown, and the sum of the others.
  private func shown(_ node: CallNode) -> (children: [CallNode], rest: CallWeight, restCount: Int) {
    let all = node.children(by: isMore)
    let kept = all.filter { share($0.total) >= leastShare }
    var rest = CallWeight()
    for child in all.dropFirst(kept.count) { rest += child.total }
    return (kept, rest, all.count - kept.count)
  }

  func lines(of root: CallNode) -> [String] {
    var lines: [String] = []
    var pending: [(node: CallNode, depth: Int)] = [(root, -1)]
    // In what is pending a node's rest follows its children.
    var rests: [ObjectIdentifier: String] = [:]
    while let (node, depth) = pending.popLast() {
      if let rest = rests.removeValue(forKey: ObjectIdentifier(node)) {
        lines.append(rest)
        continue
      }
      if depth >= 0 { lines.append(line(node, depth)) }
      let (children, rest, count) = shown(node)
      if count > 0 {
        let name = "… \(Units.things(count, "function")) with less than \(Self.percent(leastShare)) % each"
        rests[ObjectIdentifier(node)] = line(name, rest, depth + 1)
        pending.append((node, depth))
      }
      for child in children.reversed() { pending.append((child, depth + 1)) }
    }
    return lines
  }

  private func line(_ node: CallNode, _ depth: Int) -> String {
    line(node.key.module.isEmpty ? node.key.function : "\(node.key.function) [\(node.key.module)]", node.total, depth)
  }

  /// Deep stacks keep room for names: from a depth on, it is told as a number.
  private func line(_ name: String, _ weight: CallWeight, _ depth: Int) -> String {
    let most = (style.width - Self.numbers) / 2
    let indent =
      depth <= most ? String(repeating: " ", count: depth) : String(repeating: " ", count: most) + "\(depth): "
    let room = max(20, style.width - Self.numbers - indent.count)
    let columns = [
      Self.right(Units.bytes(weight.bytes), 10), Self.right(Self.percent(share(weight)), 7),
      Self.right(Units.count(weight.count), 10),
    ]
    return columns.joined(separator: " ") + "  " + indent + ShortNames.shortened(name, to: room)
  }

  private static func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }

  private static func percent(_ thousandths: Int) -> String { "\(thousandths / 10).\(thousandths % 10)" }

  func values(below node: CallNode) -> [JSONValue] {
    shown(node).children.map { child in
      .pairs([
        "function": .string(child.key.function), "module": .string(child.key.module), "file": .optional(child.file),
        "count": .integer(Int64(child.total.count)), "bytes": .integer(child.total.bytes),
        "self_count": .integer(Int64(child.own.count)), "self_bytes": .integer(child.own.bytes),
        "children": .array(values(below: child)),
      ])
    }
  }
}
