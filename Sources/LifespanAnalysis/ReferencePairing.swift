// Which retains have no release: what `history --unpaired` shows. Works on one object's events and the names of the functions in
// their stacks; names come from whoever asks.
import LifespanTrace

/// The retains and releases of one object, paired.
public struct ReferencePairing: Sendable, Codable, Equatable {
  /// Who keeps a reference, as far as the stack of its retain tells.
  public enum Holder: Sendable, Codable, Hashable {
    /// A stored property that was set: `Session.user`.
    case property(String)
    /// A property of an object or value of that type, set in its initialiser.
    case member(of: String)
    /// A container, and the function that put the object into it.
    case container(String, in: String)
    /// What this function returned or was given is still held.
    case function(String)
  }

  /// A reference that was taken and not given back.
  public struct Unpaired: Sendable, Codable, Hashable {
    /// The retain, or the birth.
    public var event: History.Event
    /// Of an event that retains several times at once: so many of them.
    public var count: Int
    /// The likely holder; nil where the event has no stack.
    public var holder: Holder?
  }

  /// References that were taken and not given back, oldest first.
  public var retains: [Unpaired]
  /// Releases without a retain: earlier events are missing.
  public var releases: [Unpaired]
  /// Pairs.
  public var paired: Int
  /// Those of them that only the order of events made: their retain may be another one.
  public var pairedByOrder: Int
}

extension History {
  /// Pairs retains (and the birth) with releases. `functions` gives the functions of a stack from the innermost outwards, as they are
  /// printed.
  ///
  /// A release is paired with the newest retain before it that has, in this order of preference: the same functions in its stack; the
  /// same function of the program's own; the same type; the same kind of container; one that called it or that it called. What is left
  /// over after that is paired by order alone, and counted.
  public func pairing(_ functions: (StackID) -> [String]) -> ReferencePairing {
    var matcher = ReferenceMatcher(events, functions)
    for test in CallPath.tests { matcher.pair(by: test) }
    for test in CallPath.testsOfCallers { matcher.pair(prefersBirth: true, by: test) }
    let sure = matcher.paired
    matcher.pair { _, _ in true }
    return ReferencePairing(
      retains: matcher.retains.map {
        .init(event: events[$0.event], count: $0.count, holder: matcher.paths[$0.path].holder)
      },
      releases: matcher.releases.map { .init(event: events[$0.event], count: $0.count, holder: nil) },
      paired: matcher.paired, pairedByOrder: matcher.paired - sure)
  }
}

/// What is not paired yet. An object may have millions of retains, but few different stacks: those are compared, once each.
private struct ReferenceMatcher {
  struct Open {
    let event: Int
    var count: Int
    let path: Int
    let isBirth: Bool
  }

  private(set) var paths: [CallPath] = []
  private(set) var retains: [Open] = []
  private(set) var releases: [Open] = []
  private(set) var paired = 0

  init(_ events: [History.Event], _ functions: (StackID) -> [String]) {
    var known: [StackID: Int] = [:]
    for (index, event) in events.enumerated() where event.change != 0 {
      if known[event.stack] == nil {
        known[event.stack] = paths.count
        paths.append(CallPath(functions(event.stack)))
      }
      let path = known[event.stack] ?? 0
      let one = Open(event: index, count: abs(event.change), path: path, isBirth: event.kind == .birth)
      if event.change > 0 { retains.append(one) } else { releases.append(one) }
    }
  }

  /// Gives each release the newest retain before it that the test finds to be its own, or the birth, if that is preferred and
  /// fits as well.
  mutating func pair(prefersBirth: Bool = false, by test: (CallPath, CallPath) -> Bool) {
    var fitting: [Int: [Int]] = [:]
    var newest = [[Int]](repeating: [], count: paths.count)
    let taken = Set(retains.map(\.path)).sorted()
    var next = 0
    for release in releases.indices {
      while next < retains.count, retains[next].event < releases[release].event {
        newest[retains[next].path].append(next)
        next += 1
      }
      let path = releases[release].path
      let candidates = fitting[path] ?? taken.filter { test(paths[$0], paths[path]) }
      fitting[path] = candidates
      while releases[release].count > 0, let newestOne = candidates.compactMap({ newest[$0].last }).max() {
        let born = prefersBirth ? candidates.first { newest[$0].first.map { retains[$0].isBirth } ?? false } : nil
        let retain = born.flatMap { newest[$0].first } ?? newestOne
        let both = min(retains[retain].count, releases[release].count)
        retains[retain].count -= both
        releases[release].count -= both
        paired += both
        guard retains[retain].count == 0 else { continue }
        if born == nil { newest[retains[retain].path].removeLast() } else { newest[retains[retain].path].removeFirst() }
      }
    }
    retains.removeAll { $0.count == 0 }
    releases.removeAll { $0.count == 0 }
  }
}

/// The functions of a stack, as far as they tell who takes or gives back a reference.
struct CallPath {
  /// All of them, without initialisers of the object itself, helpers of the compiler and offsets.
  let functions: [String]
  /// The first that is no container's or helper's.
  let responsible: String?
  /// It and what called it.
  private let callers: [String]
  /// The type that it belongs to; nil of a plain function.
  let type: String?
  /// Array, Dictionary, Set, or a closure's context.
  let container: String?

  init(_ names: [String]) {
    let all = names.map(Self.plain).filter { !Self.isHelper($0) }
    functions = all
    // An object is made by whoever calls its initialiser.
    let calls = all.drop { $0.contains("__allocating_init") }
    let own = calls.first { !Self.isLibrary($0) } ?? calls.first
    responsible = own
    callers = all.firstIndex { $0 == own }.map { Array(all[$0...]) } ?? []
    type = own.flatMap(Self.context)
    container = calls.prefix { Self.isLibrary($0) }.lazy.compactMap(Self.container).first
  }

  /// Whether a retain and a release belong together, the surest first.
  static let tests: [@Sendable (CallPath, CallPath) -> Bool] = [
    { !$0.functions.isEmpty && $0.functions == $1.functions },
    { $0.container == nil && $1.container == nil && $0.responsible != nil && $0.responsible == $1.responsible },
    { $0.container == nil && $1.container == nil && $0.type != nil && $0.type == $1.type },
    { $0.container != nil && $0.container == $1.container },
    // Put into a container by who then gave up the container.
    { $0.responsible != nil && $0.responsible == $1.responsible },
  ]

  /// A function that ends in a call has no frame any more: the release that it ends with stands in its caller's name. What it gives back is
  /// what it began with, and a retain at its end may be of a function that it called and that ended in the same way: so the birth
  /// comes first.
  static let testsOfCallers: [@Sendable (CallPath, CallPath) -> Bool] = [
    { $0.distance(to: $1) == 1 },
    { $0.distance(to: $1) == 2 },
    { $0.distance(to: $1) != nil },
  ]

  /// How many calls lie between the two, where one called the other: a function that ends in a call has no frame any more.
  private func distance(to other: CallPath) -> Int? {
    guard container == nil, other.container == nil, let own = responsible, let others = other.responsible else {
      return nil
    }
    return [callers.firstIndex(of: others), other.callers.firstIndex(of: own)].compactMap { $0 }.min()
  }

  var holder: ReferencePairing.Holder? {
    guard let responsible else { return nil }
    if let container { return .container(container, in: responsible) }
    for accessor in [".setter", ".modify", ".didset", ".willset"] where responsible.hasSuffix(accessor) {
      return .property(String(responsible.dropLast(accessor.count)))
    }
    if responsible.contains(".init("), let type { return .member(of: type) }
    return .function(responsible)
  }

  private static func plain(_ name: String) -> String {
    var name = name[...]
    var goesOn = true
    while goesOn {
      goesOn = false
      for prefix in ["specialized ", "generic specialization ", "merged ", "partial apply for "]
      where name.hasPrefix(prefix) {
        name = name.dropFirst(prefix.count)
        goesOn = true
      }
    }
    return String(name)
  }

  private static func isHelper(_ name: String) -> Bool {
    ["outlined ", "value witness", "reabstraction thunk", "thunk for ", "swift_", "_swift_", "initializeWithCopy"]
      .contains { name.hasPrefix($0) } || name.contains("swift::")
  }

  /// Functions of the standard library and of the runtime itself.
  private static func isLibrary(_ name: String) -> Bool {
    [
      "Array.", "ContiguousArray.", "ArraySlice.", "Dictionary.", "Set.", "Optional.", "Unmanaged.", "_ArrayBuffer.",
      "_ContiguousArray", "_ArrayBufferProtocol", "__SwiftNativeNSArray", "_NativeDictionary.", "_NativeSet.", "__Raw",
      "_Dictionary",
      "_Set", "Sequence.", "Collection.", "RangeReplaceableCollection.", "MutableCollection.", "UnsafeMutable",
      "KeyPath", "swift::",
      "_AnyHashable", "AnyHashable.", "withExtendedLifetime", "closure context",
    ].contains { name.hasPrefix($0) } || name.contains("@objc destroy") || name.hasPrefix("objectdestroy")
  }

  private static func container(_ name: String) -> String? {
    if name.hasPrefix("objectdestroy") || name.contains("closure context") { return "closure" }
    if name.contains("Dictionary") { return "Dictionary" }
    if name.contains("Array") { return "Array" }
    if name.hasPrefix("Set.") || name.contains("_NativeSet") || name.hasPrefix("_Set") { return "Set" }
    return nil
  }

  /// `Session` of `Session.user.setter`, `Session.init(name:)`, `closure #1 in Session.start()`, `Session.__deallocating_deinit`.
  private static func context(_ name: String) -> String? {
    var name = name[...]
    while name.hasPrefix("closure #"), let range = name.firstRange(of: " in ") { name = name[range.upperBound...] }
    for prefix in ["static ", "variable initialization expression of "] where name.hasPrefix(prefix) {
      name = name.dropFirst(prefix.count)
    }
    let head = name.prefix { $0 != "(" && $0 != " " }
    var parts = head.split(separator: ".", omittingEmptySubsequences: false)
    let accessors: Set<Substring> = ["getter", "setter", "modify", "read", "didset", "willset"]
    if let last = parts.last, accessors.contains(last) { parts.removeLast() }
    guard parts.count > 1 else { return nil }
    return parts.dropLast().joined(separator: ".")
  }
}
