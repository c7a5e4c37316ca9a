// What a recording records. Given to Allocations.start.

extension Allocations {
  enum Scope: Sendable, Hashable {
    case tracked
    case swiftObjects
  }

  /// A rule about types by their names. Rules apply in order, the last one that matches decides. A type that none
  /// matches is recorded, unless the first rule is a `record`.
  public struct Rule: Sendable, Hashable {
    enum Action: Character {
      case record = "+"
      case ignore = "-"
    }

    let action: Action
    let pattern: String

    /// Types that are recorded.
    ///
    /// - Parameter pattern: a type name as Swift prints it with its module, `MyApp.Node`; only `*` is special and
    ///   stands for any text.
    public static func record(_ pattern: String) -> Rule { Rule(action: .record, pattern: pattern) }

    /// Types that are left out.
    ///
    /// - Parameter pattern: as for ``record(_:)``.
    public static func ignore(_ pattern: String) -> Rule { Rule(action: .ignore, pattern: pattern) }

    /// The rule as the recorder reads it; nil where the pattern can't be a type's name.
    var line: String? {
      guard !pattern.isEmpty, !pattern.utf8.contains(where: { $0 == 0x0a || $0 == 0 }) else { return nil }
      return "\(action.rawValue)\(pattern)\n"
    }
  }

  /// Which objects a recording looks at. Given to ``start(recording:_:referenceCounts:historyEvents:)``: a scope, or rules
  /// alone.
  public struct Recording: Sendable, Hashable, ExpressibleByArrayLiteral {
    let scope: Scope
    let rules: [Rule]

    /// Objects of ``Tracked`` types and of classes given to ``Allocations/track(_:)``, and tokens.
    public static let tracked = Recording(scope: .tracked, rules: [])
    /// All Swift heap objects: class instances, boxes, closure contexts, the storage of arrays, dictionaries and sets,
    /// tasks.
    public static let swiftObjects = Recording(scope: .swiftObjects, rules: [])

    init(scope: Scope, rules: [Rule]) {
      self.scope = scope
      self.rules = rules
    }

    /// Swift objects of the types that the rules let in: `[.record("MyApp.*"), .ignore("*Cache")]`.
    public init(arrayLiteral rules: Rule...) { self.init(scope: .swiftObjects, rules: rules) }
  }

  /// Which objects a row counts: the lifespan filter of Instruments.
  public enum LifespanFilter: Sendable, Hashable, CaseIterable {
    /// All objects created.
    case all
    /// Created and still living.
    case living
    /// Created and destroyed.
    case destroyed
  }

  /// What an object is.
  public enum Kind: String, Sendable, Hashable {
    /// An instance of a class or an actor.
    case `class`
    /// What a closure has captured.
    case closure
    /// A value in a box of its own: a captured variable, an indirect enum case, a large value in an existential.
    case box
    /// The storage of an array.
    case array
    /// The storage of a dictionary.
    case dictionary
    /// The storage of a set.
    case set
    /// A task.
    case task
    /// A thread.
    case thread
    /// A block of malloc that is no Swift object.
    case malloc
    /// A mapping of memory.
    case vm
    /// A value that holds a ``Token``.
    case token
  }
}
