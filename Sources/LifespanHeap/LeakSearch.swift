// Finds leaks: what no root reaches, condensed to components, heads where nothing unreachable holds them from above.
import LifespanAnalysis
import LifespanTrace

/// One pass over the unreachable part of a picture.
struct LeakSearch {
  private let heap: Heap
  private let naming: HeapNaming
  private let isLost: [Bool]
  private let components: Components
  private var graph: HeapGraph { heap.graph }

  private struct Head {
    var members: [Int]
    var anchor: Int
    var kind: LeakKind
    var cycle: [Int]
    var signature: String
  }

  init(_ heap: Heap, _ naming: HeapNaming) {
    self.heap = heap
    self.naming = naming
    isLost = (0..<heap.graph.nodes.count).map { heap.reach.grades[$0] == Reach.none && !heap.isFree($0) }
    components = Components(heap.holding, isLost)
  }

  func groups() -> [LeakGroup] {
    var members: [UInt32: [Int]] = [:]
    for node in isLost.indices where isLost[node] {
      let number = components.numbers[node]
      if !components.isHeld[Int(number)] { members[number, default: []].append(node) }
    }
    // The order decides what is counted below which of two leaks: it is the same in every run.
    let heads = members.values.map(head).sorted { ($0.signature, order($0.anchor)) < ($1.signature, order($1.anchor)) }
    var counting = Counting(isLost.count)
    var groups: [LeakGroup] = []
    var tally: [UInt32: HeapRow] = [:]
    for (place, head) in heads.enumerated() {
      let isNew = place == 0 || heads[place - 1].signature != head.signature
      if isNew {
        close(&groups, &tally)
        groups.append(begin(head))
      }
      add(head, to: &groups[groups.count - 1], &tally, &counting)
    }
    close(&groups, &tally)
    return groups.sorted { left, right in
      if left.isToolchains != right.isToolchains { return right.isToolchains }
      return (right.totalBytes, left.fingerprint) < (left.totalBytes, right.fingerprint)
    }
  }

  /// An order that addresses have no part in, where births are known.
  private func order(_ node: Int) -> UInt64 {
    let serial = graph.nodes.serials[node]
    return serial == 0 ? 1 << 62 + UInt64(node) : serial
  }

  private func head(_ members: [Int]) -> Head {
    let anchor = members.min { rank($0) < rank($1) } ?? 0
    let number = Int(components.numbers[anchor])
    let isTask = members.contains { graph.flags($0).contains(.task) || heap.type($0).kind == .task }
    let cycle = components.isCycle[number] ? shortestCycle(anchor) : []
    let kind: LeakKind = isTask ? .suspendedTask : components.isCycle[number] ? .cycle : .root
    var head = Head(members: members, anchor: anchor, kind: kind, cycle: cycle, signature: "")
    head.signature = signature(head)
    return head
  }

  /// What a reader looks at first: the program's own objects, then others, then blocks; of several the first by name and birth.
  private func rank(_ node: Int) -> (Int, String, UInt64) {
    let type = heap.type(node)
    var class_ = 4
    if type.kind == .classInstance { class_ = 0 }
    if type.kind == .task { class_ = 1 }
    if type.kind == .closure || type.kind == .box { class_ = 2 }
    if [.array, .dictionary, .set].contains(type.kind) { class_ = 3 }
    if class_ < 4, naming.isToolchainType(type) { class_ += 5 }
    return (class_, heap.key(type), order(node))
  }

  /// The edges of the shortest cycle through a node, within its component.
  private func shortestCycle(_ anchor: Int) -> [Int] {
    let holding = heap.holding
    let number = components.numbers[anchor]
    var came: [Int: Int] = [:]
    var queue = [anchor]
    var next = 0
    while next < queue.count {
      let node = queue[next]
      next += 1
      for edge in graph.edges(of: node) where holding.holds[edge] {
        let target = holding.target(edge)
        if target == anchor {
          var cycle = [edge]
          var at = node
          while at != anchor, let edge = came[at] {
            cycle.append(edge)
            at = Int(holding.sources[edge])
          }
          return cycle.reversed()
        }
        guard components.numbers[target] == number, came[target] == nil else { continue }
        came[target] = edge
        queue.append(target)
      }
    }
    return []
  }

  /// Types, properties and functions; nothing that differs between two runs: no address, no number, no length of a ring.
  private func signature(_ head: Head) -> String {
    var parts = [head.kind.rawValue, heap.key(heap.type(head.anchor))]
    var seen: Set<String> = []
    for edge in head.cycle {
      let label = graph.name(graph.edges.labels[edge])
      let type = heap.key(heap.type(Int(heap.holding.sources[edge])))
      let part = type + (label.isEmpty ? "+\(graph.edges.offsets[edge])" : "." + LeakSearch.plain(label))
      if seen.insert(part).inserted { parts.append(part) }
    }
    parts += naming.functions(StackID(heap.stacks[head.anchor])).map { "by " + $0 }
    return parts.joined(separator: "\n")
  }

  /// Which element of an array or a dictionary it is differs between runs.
  static func plain(_ label: String) -> String {
    var text = ""
    var isInside = false
    for character in label {
      if character == "]" { isInside = false }
      if !isInside { text.append(character) }
      if character == "[" {
        isInside = true
        text += "…"
      }
    }
    return text
  }

  private func begin(_ head: Head) -> LeakGroup {
    LeakGroup(
      fingerprint: Fingerprint.of(head.signature), kind: head.kind, head: heap.type(head.anchor),
      stack: StackID(heap.stacks[head.anchor]), instances: 0, headCount: 0, headBytes: 0, belowCount: 0, belowBytes: 0,
      cycle: head.cycle.prefix(64).map { heap.step(Int(heap.holding.sources[$0]), by: $0) },
      cycleLength: head.cycle.count, rows: [], isToolchains: true,
      reason: head.kind == .root ? naming.toolchainsReason(heap.type(head.anchor)) : nil,
      examples: [], signature: head.signature)
  }

  /// Which nodes were counted, and those that are to be looked at.
  private struct Counting {
    var isCounted: [Bool]
    var queue: [Int] = []

    init(_ count: Int) { isCounted = [Bool](repeating: false, count: count) }
  }

  private func add(
    _ head: Head, to group: inout LeakGroup, _ tally: inout [UInt32: HeapRow], _ counting: inout Counting
  ) {
    group.instances += 1
    if group.examples.count < 8 { group.examples.append(heap.step(head.anchor)) }
    if group.reason == nil, !naming.isToolchains(StackID(heap.stacks[head.anchor])) { group.isToolchains = false }
    counting.queue.removeAll(keepingCapacity: true)
    for node in head.members where !counting.isCounted[node] {
      counting.isCounted[node] = true
      counting.queue.append(node)
      group.headCount += 1
      group.headBytes &+= graph.nodes.sizes[node]
      count(node, &tally, &group)
    }
    var next = 0
    while next < counting.queue.count {
      let node = counting.queue[next]
      next += 1
      for edge in graph.edges(of: node) where heap.holding.holds[edge] {
        let target = heap.holding.target(edge)
        guard isLost[target], !counting.isCounted[target] else { continue }
        counting.isCounted[target] = true
        counting.queue.append(target)
        group.belowCount += 1
        group.belowBytes &+= graph.nodes.sizes[target]
        count(target, &tally, &group)
      }
    }
  }

  private func count(_ node: Int, _ tally: inout [UInt32: HeapRow], _ group: inout LeakGroup) {
    let row = heap.rows[node]
    if tally[row] == nil {
      let type = heap.types[Int(row)]
      // What the toolchain loses by itself takes the program's closures with it: they are no leak of their own.
      let isContext = type.kind == .closure || type.kind == .box
      let isNothing = type.kind == .malloc || (isContext && group.reason != nil)
      if group.isToolchains, !isNothing, !naming.isToolchainType(type) { group.isToolchains = false }
      tally[row] = HeapRow(type: type, count: 0, bytes: 0)
    }
    tally[row]?.count += 1
    tally[row]?.bytes &+= graph.nodes.sizes[node]
  }

  private func close(_ groups: inout [LeakGroup], _ tally: inout [UInt32: HeapRow]) {
    guard let group = groups.last else { return }
    let head = heap.key(group.head)
    groups[groups.count - 1].rows = tally.values.sorted { left, right in
      let isHead = (heap.key(left.type) == head, heap.key(right.type) == head)
      if isHead.0 != isHead.1 { return isHead.0 }
      return (right.bytes, heap.key(left.type)) < (left.bytes, heap.key(right.type))
    }
    tally = [:]
  }
}

/// Short names for long texts.
enum Fingerprint {
  /// 16 hexadecimal digits: FNV-1a.
  static func of(_ text: String) -> String {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in text.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
  }
}

extension Heap {
  /// What tells a type from others, the same in every run: discriminators of private types may differ between builds.
  func key(_ type: TypeIdentity) -> String {
    if !type.name.isEmpty { return type.name }
    // The address of the function that makes a closure differs between runs.
    return "\(type.kind) without a name"
  }

  /// The leaks of the picture.
  public func leaks(_ naming: HeapNaming = HeapNaming()) -> HeapLeaks {
    if let leaksWithheld { return HeapLeaks(groups: [], withheld: leaksWithheld) }
    return HeapLeaks(groups: LeakSearch(self, naming).groups(), withheld: nil)
  }
}
