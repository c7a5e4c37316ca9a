// The one watch of a process: its list, its lock, its thread. Called by Allocations+Watching.
#if Recording
internal import CLinkedDoor

enum Watcher {
  // All below the lock (lifespan_watch_lock). Nothing that the program wrote runs below it.
  nonisolated(unsafe) private static var list = WatchList()
  nonisolated(unsafe) private static var classes = ClassTable()
  nonisolated(unsafe) private static var rules = WatchRules()
  nonisolated(unsafe) private static var sleepsUntil: UInt64 = 0
  // Of the watching thread alone.
  nonisolated(unsafe) private static var examiner = Examiner()

  static func locked<Value>(_ body: () -> Value) -> Value {
    lifespan_watch_lock()
    defer { lifespan_watch_unlock() }
    return body()
  }

  static func withRules<Value>(_ body: (inout WatchRules) -> Value) -> Value? {
    guard lifespan_watch_possible() else { return nil }
    return locked { body(&rules) }
  }

  static func expect(_ object: AnyObject, _ within: UInt64, _ reason: String) {
    guard lifespan_watch_possible() else { return }
    let type: any AnyObject.Type = Swift.type(of: object)
    let children = ChildSearch(of: object) { known($0) }.children
    let watched = WatchedObject(
      object: object, address: UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()),
      ticks: lifespan_watch_ticks(), isWeak: true, type: type, reason: reason, children: children)
    add(Expectation(subject: .object(watched), since: lifespan_watch_now_ns(), within: within))
  }

  static func expect(_ scope: WatchedScope, _ within: UInt64) {
    guard lifespan_watch_possible() else { return scope.scope.forget() }
    add(Expectation(subject: .scope(scope), since: lifespan_watch_now_ns(), within: within))
  }

  /// The watching thread looks at budgets from now on.
  static func startThread() {
    guard lifespan_watch_possible() else { return }
    locked {
      _ = lifespan_watch_start(run)
      lifespan_watch_wake()
    }
  }

  private static func known(_ type: any AnyObject.Type) -> WatchedClass {
    if let known = locked({ classes.known(type) }) { return known }
    let found = WatchedClass(type)
    locked { classes.learn(type, found) }
    return found
  }

  private static func add(_ expectation: Expectation) {
    locked {
      list.add(expectation, at: expectation.deadline)
      _ = lifespan_watch_start(run)
      if expectation.deadline < sleepsUntil || list.isDueForSweep { lifespan_watch_wake() }
    }
  }

  private static let run: @convention(c) () -> Void = {
    while true { turn() }
  }

  private static func turn() {
    lifespan_watch_lock()
    let now = lifespan_watch_now_ns()
    var due = list.takeDue(now)
    let all = list.isDueForSweep ? list.takeAll() : []
    let budgets = rules.budgetsDue(now)
    if due.isEmpty && all.isEmpty && budgets.isEmpty {
      sleepsUntil = min(list.next ?? .max, rules.nextBudgetLook ?? .max)
      lifespan_watch_wait(sleepsUntil)
      sleepsUntil = 0
      lifespan_watch_unlock()
      return
    }
    let current = rules
    lifespan_watch_unlock()
    // From here on objects of the program may end, and its handler runs.
    var again = all.filter { Examiner.isPending($0.expectation) }
    let suspects = examiner.examine(&due, current, now: lifespan_watch_now_ns, &again)
    examiner.tell(suspects, current, now: lifespan_watch_now_ns, &again)
    examiner.look(at: budgets, current)
    due.removeAll()
    locked {
      for one in again { list.add(one.expectation, at: one.time) }
      if !all.isEmpty { list.swept() }
      rules.suppressed.merge(examiner.takeSuppressed()) { $0 + $1 }
    }
  }
}

/// What the program said about its expectations.
struct WatchRules {
  struct Budget {
    var types: Allocations.Types
    var limit: Int
  }
  var handler = Allocations.FindingHandler.log
  var types: [ObjectIdentifier: String] = [:]
  var patterns: [(pattern: String, reason: String)] = []
  /// By the address, inverted.
  var objects: [UInt: ExpectedToLive] = [:]
  var budgets: [Budget] = []
  var suppressed: [String: Int] = [:]
  var nextBudgetLook: UInt64?
  /// Whether who holds a survivor is looked for; nil: where no thread need be interrupted for it, and in tests.
  var looksForHolders: Bool?
  var isTest = false

  struct ExpectedToLive {
    weak var object: AnyObject?
    var reason: String
  }

  /// Once a second.
  mutating func budgetsDue(_ now: UInt64) -> [Budget] {
    guard let next = nextBudgetLook, next <= now else { return [] }
    nextBudgetLook = now + 1_000_000_000
    return budgets
  }

  /// Why an object may live; nil: it may not.
  func reasonToLive(_ address: UInt, _ type: any AnyObject.Type, _ object: AnyObject?) -> String? {
    if let expected = objects[~address], object == nil || expected.object === object { return expected.reason }
    var above: AnyClass? = type
    while let one = above {
      if let reason = types[ObjectIdentifier(one)] { return reason }
      above = superclass(of: one)
    }
    guard !patterns.isEmpty else { return nil }
    let name = plainTypeName(of: type)
    return patterns.first { Glob.matches($0.pattern, name) }?.reason
  }
}
#endif
