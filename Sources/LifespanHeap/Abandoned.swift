// Finds abandoned types: reachable, and living ones from every marked generation since their first. INTERFACE of the verdict:
// at least four such generations; leaked objects do not count.
import LifespanAnalysis
import LifespanTrace

/// A type of which every round leaves something behind.
public struct AbandonedType: Sendable, Hashable {
  /// The type.
  public var type: TypeIdentity
  /// All of its objects that roots reach; those that others of the verdict hold, where it has no verdict itself.
  public var count: Int
  /// Their bytes.
  public var bytes: UInt64
  /// Living ones of each marked generation, the first mark's first, and of the one that is still open.
  public var perGeneration: [Int]
  /// From a root to one of them; nil of a type below others.
  public var path: HeapPath?
  /// Where that one was made.
  public var stack: StackID
  /// It has the verdict itself; else it lives only below objects that have it.
  public var isHead: Bool
  /// It is one of the toolchain's: strings, arrays, whatever the program's own objects are made of.
  public var isToolchains: Bool
  /// Bytes that would go if the objects went.
  public var retainedBytes: UInt64
}

extension AbandonedType {
  /// Why a type stands in the list.
  public enum Role: String, Sendable, Hashable {
    /// A type of the program's with the verdict: what is to be looked at.
    case head
    /// Lives only below heads, and goes with them.
    case below
    /// One of the toolchain's types that has the verdict, too: arrays, strings, closures, which grow with the heads.
    case growsAlong = "grows-along"
  }

  /// Why it stands in the list.
  public var role: Role { !isHead ? .below : isToolchains ? .growsAlong : .head }
}

/// What a picture and the marks say of abandoned objects.
public struct HeapAbandoned: Sendable {
  /// Marked generations that a verdict needs.
  public static let generationsNeeded = 4
  /// The program's own heads first, then largest first.
  public var types: [AbandonedType]
  /// Marked generations by the time of the picture.
  public var generations: Int
  /// Why none can be told; nil where they can.
  public var withheld: String?
}

extension Heap {
  /// The abandoned types of the picture.
  public func abandoned(_ naming: HeapNaming = HeapNaming()) -> HeapAbandoned {
    let needed = HeapAbandoned.generationsNeeded
    guard marks.count >= needed else {
      let have = "\(marks.count) mark\(marks.count == 1 ? "" : "s")"
      return HeapAbandoned(
        types: [], generations: marks.count,
        withheld: "\(have), \(needed) are needed: mark each round trip (lifespan mark, lifespan_mark_generation)")
    }
    let search = AbandonedSearch(self, naming)
    return HeapAbandoned(types: search.types(), generations: marks.count, withheld: nil)
  }
}

private struct AbandonedSearch {
  private let heap: Heap
  private let naming: HeapNaming
  /// Of each row, the reachable ones of each generation, the open one last.
  private var living: [[Int]]
  private var bytes: [UInt64]
  private let verdicts: [Bool]

  init(_ heap: Heap, _ naming: HeapNaming) {
    self.heap = heap
    self.naming = naming
    let open = heap.marks.count
    var living = [[Int]](repeating: [], count: heap.types.count)
    var bytes = [UInt64](repeating: 0, count: heap.types.count)
    for node in heap.reach.order.map({ Int($0) }) where !heap.isFree(node) {
      let flags = heap.graph.flags(node)
      guard !flags.contains(.sideTable), !flags.contains(.deinited) else { continue }
      let row = Int(heap.rows[node])
      if living[row].isEmpty { living[row] = [Int](repeating: 0, count: open + 1) }
      bytes[row] &+= heap.graph.nodes.sizes[node]
      // An object from before the recording belongs to no generation: it only counts as one of them all.
      if heap.generations[node] != Births.unknown { living[row][min(open, Int(heap.generations[node]))] += 1 }
    }
    self.living = living
    self.bytes = bytes
    verdicts = heap.types.indices.map { row in
      let isObject = heap.types[row].kind.isSwiftObject
      let births = row < heap.births.all.count ? heap.births.all[row] : []
      return isObject && AbandonedSearch.grows(living[row], births, open)
    }
  }

  /// Something of every generation is left, from the one in which the type first had objects at all to the last mark: an
  /// earlier one without any (the start, a warm-up of other things) says nothing against it.
  private static func grows(_ living: [Int], _ births: [UInt64], _ marks: Int) -> Bool {
    guard !living.isEmpty else { return false }
    let first = (0..<marks).first { ($0 < births.count && births[$0] > 0) || living[$0] > 0 } ?? marks
    return marks - first >= HeapAbandoned.generationsNeeded && living[first..<marks].allSatisfy { $0 > 0 }
  }

  func types() -> [AbandonedType] {
    guard verdicts.contains(true) else { return [] }
    let dominators = heap.dominators
    let isHead = verdicts
    // What a type of the toolchain holds, a run loop say, is anybody's: nothing counts as below it.
    let isOwn = heap.types.indices.map { verdicts[$0] && !naming.isToolchainType(heap.types[$0]) }
    var nearest = [Int?](repeating: nil, count: heap.types.count)
    var newest = nearest
    for node in heap.reach.order.map({ Int($0) }) {
      let row = Int(heap.rows[node])
      guard isHead[row], !heap.graph.flags(node).contains(.deinited) else { continue }
      if nearest[row] == nil { nearest[row] = node }
      if newest[row].map({ heap.graph.nodes.serials[$0] < heap.graph.nodes.serials[node] }) ?? true {
        newest[row] = node
      }
    }
    // Dominators come first, so that what hangs below a verdict is known when its own turn comes.
    var isBelow = [Bool](repeating: false, count: heap.graph.nodes.count)
    var below: [UInt32: HeapRow] = [:]
    var retained = [UInt64](repeating: 0, count: heap.types.count)
    for node in dominators.order.map({ Int($0) }) {
      let above = dominators.dominator[node]
      let row = heap.rows[node]
      let isUnder = above != Dominators.roots && (isBelow[Int(above)] || isOwn[Int(heap.rows[Int(above)])])
      isBelow[node] = isUnder
      if isHead[Int(row)] {
        // What an object of the same type retains has that in it already.
        let isInside = above != Dominators.roots && heap.rows[Int(above)] == row
        if !isInside { retained[Int(row)] &+= dominators.retained[node] }
      } else if isUnder, !heap.isFree(node) {
        below[row, default: HeapRow(type: heap.types[Int(row)], count: 0, bytes: 0)].count += 1
        below[row]?.bytes &+= heap.graph.nodes.sizes[node]
      }
    }
    var found = heap.types.indices.filter { isHead[$0] }.map { row in
      AbandonedType(
        type: heap.types[row], count: living[row].reduce(0, +), bytes: bytes[row], perGeneration: living[row],
        path: nearest[row].flatMap { heap.shortestPath(to: $0) },
        stack: newest[row].map { StackID(heap.stacks[$0]) } ?? .none, isHead: true,
        isToolchains: naming.isToolchainType(heap.types[row]), retainedBytes: retained[row])
    }
    found += below.values.map { row in
      AbandonedType(
        type: row.type, count: row.count, bytes: row.bytes, perGeneration: [], path: nil, stack: .none, isHead: false,
        isToolchains: row.type.kind == .malloc || naming.isToolchainType(row.type), retainedBytes: row.bytes)
    }
    return found.sorted { left, right in
      // A class says more than the closures and arrays that it comes with.
      let ranks = [left, right].map {
        ($0.isToolchains ? 4 : 0) + ($0.isHead ? 0 : 2) + ($0.type.kind == .classInstance ? 0 : 1)
      }
      if ranks[0] != ranks[1] { return ranks[0] < ranks[1] }
      return (right.retainedBytes, heap.key(left.type)) < (left.retainedBytes, heap.key(right.type))
    }
  }
}
