// A call tree over allocations, and what a reader may do to it. Built from allocation sites; written by CallTreeReport.
import LifespanAnalysis
import LifespanSymbols

/// What a reader may do to a call tree. The order in which it is done: prune, focus, charge, hide, flatten, invert, separate.
public struct CallTreeOptions: Sendable {
  /// The functions that allocated first, their callers below them.
  public var isInverted = false
  /// Without functions of the runtime, the standard library, Foundation and the system: what they allocated counts for whoever
  /// called them.
  public var hidesSystem = false
  /// What has a tree of its own.
  public enum Separation: String, Sendable, CaseIterable {
    /// Each type.
    case type
    /// Each thread: what it allocated.
    case thread
  }

  /// By what trees are kept apart; empty: one tree. The first is the outermost.
  public var separation: [Separation] = []
  /// A function that calls itself is one function.
  public var flattensRecursion = false
  /// Only what is below a function of these names: trees that begin there.
  public var focus: [String] = []
  /// Without stacks in which a function of these names stands.
  public var prune: [String] = []
  /// Functions of these names are left out: what they allocated counts for whoever called them.
  public var charge: [String] = []

  /// A tree of all functions, from the outermost.
  public init() {}
}

/// How many objects, and their bytes.
struct CallWeight: Equatable {
  var count = 0
  var bytes: Int64 = 0

  static func += (sum: inout CallWeight, more: CallWeight) {
    sum.count &+= more.count
    sum.bytes &+= more.bytes
  }
}

/// One function called from the one above it. A type, where trees are separated by type.
final class CallNode {
  struct Key: Hashable {
    let function: String
    let module: String
  }

  let key: Key
  /// Its file, where it is known.
  let file: String?
  /// With what its callees allocated.
  private(set) var total = CallWeight()
  /// What it allocated itself.
  private(set) var own = CallWeight()
  private var byKey: [Key: CallNode] = [:]

  init(_ key: Key, file: String? = nil) {
    self.key = key
    self.file = file
  }

  /// The largest first.
  func children(by isMore: (CallWeight, CallWeight) -> Bool) -> [CallNode] {
    byKey.values.sorted { one, other in
      if isMore(one.total, other.total) { return true }
      if isMore(other.total, one.total) { return false }
      return (one.key.function, one.key.module) < (other.key.function, other.key.module)
    }
  }

  func add(_ path: [(key: Key, file: String?)], _ weight: CallWeight) {
    var node = self
    node.total += weight
    for step in path {
      let next = node.byKey[step.key] ?? CallNode(step.key, file: step.file)
      node.byKey[step.key] = next
      next.total += weight
      node = next
    }
    node.own += weight
  }
}

/// The tree, and what the reader took out of it.
struct CallTree {
  let root = CallNode(CallNode.Key(function: "", module: ""))
  private(set) var pruned = CallWeight()
  private(set) var outOfFocus = CallWeight()
  private let options: CallTreeOptions
  private let threads: ThreadNames

  init(_ sites: [NamedSite], lifespan: LifespanFilter, options: CallTreeOptions, threads: ThreadNames) {
    self.options = options
    self.threads = threads
    for site in sites {
      let (count, bytes) = site.tally.weight(of: lifespan)
      add(site, CallWeight(count: count, bytes: bytes))
    }
  }

  private mutating func add(_ site: NamedSite, _ weight: CallWeight) {
    if site.frames.contains(where: { Self.matches($0, options.prune) }) {
      pruned += weight
      return
    }
    var frames = site.frames[...]
    if !options.focus.isEmpty {
      guard let first = frames.firstIndex(where: { Self.matches($0, options.focus) }) else {
        outOfFocus += weight
        return
      }
      frames = frames[first...]
    }
    var shown = frames.filter { !Self.matches($0, options.charge) && !(options.hidesSystem && !$0.isOwn) }
    if options.flattensRecursion { shown = Self.flattened(shown) }
    if options.isInverted { shown.reverse() }
    var path = shown.map { (key: CallNode.Key(function: $0.function, module: $0.module), file: $0.file) }
    if path.isEmpty {
      let reason = site.frames.isEmpty ? site.ending ?? "no stack was recorded" : "no function is left of these stacks"
      path = [(CallNode.Key(function: "(\(reason))", module: ""), nil)]
    }
    root.add(options.separation.map { (CallNode.Key(function: head(site, $0), module: ""), nil) } + path, weight)
  }

  private func head(_ site: NamedSite, _ separation: CallTreeOptions.Separation) -> String {
    switch separation {
    case .type: site.type
    case .thread: threads.name(of: site.thread ?? .unknown)
    }
  }

  /// A pattern is held against the function's name and the module's.
  private static func matches(_ frame: Frame, _ patterns: [String]) -> Bool {
    patterns.contains { Glob.matches($0, frame.function) || Glob.matches($0, frame.module) }
  }

  private static func flattened(_ frames: [Frame]) -> [Frame] {
    frames.enumerated().filter { index, frame in
      index == 0 || frames[index - 1].function != frame.function || frames[index - 1].module != frame.module
    }
    .map(\.element)
  }
}
