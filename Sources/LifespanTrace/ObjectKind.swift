// What a type's objects are. Read from TYPES chunks, used as the `kind` of every row.

/// What a type's objects are: class instances, closure contexts, boxes, … A newer recorder may know more kinds.
public struct ObjectKind: TraceIdentifier {
  /// The number in the trace.
  public let rawValue: UInt8
  /// Wraps a number.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Instances of a class or an actor.
  public static let classInstance = ObjectKind(1)
  /// Contexts of closures; their types have no name but the address of the function that makes them.
  public static let closure = ObjectKind(2)
  /// Boxes: captured variables, indirect enum cases, errors and existentials.
  public static let box = ObjectKind(3)
  /// Storage of arrays.
  public static let array = ObjectKind(4)
  /// Storage of dictionaries.
  public static let dictionary = ObjectKind(5)
  /// Storage of sets.
  public static let set = ObjectKind(6)
  /// Swift tasks.
  public static let task = ObjectKind(7)
  /// Threads.
  public static let thread = ObjectKind(8)
  /// Blocks of malloc that are no Swift object.
  public static let malloc = ObjectKind(9)
  /// Regions that the program maps.
  public static let vm = ObjectKind(10)
  /// `Allocations.Token`: values that are counted by a name.
  public static let token = ObjectKind(11)

  /// Whether its objects are counted by references.
  public var hasReferenceCount: Bool { ![.thread, .malloc, .vm, .token].contains(self) }
  /// Whether they are objects of the Swift runtime.
  public var isSwiftObject: Bool { hasReferenceCount }
  /// Whether they are memory of the heap: a token is a value, a thread's stack and what the program maps are address space of their own.
  public var isOnHeap: Bool { self != .token && self != .thread && self != .vm }
  /// Kinds that a recording holds only where it was asked for them.
  public static let optional: [ObjectKind] = [.malloc, .vm]

  private static let names = [
    "unknown", "class", "closure", "box", "array", "dictionary", "set", "task", "thread", "malloc", "vm", "token",
  ]

  /// All kinds that this version knows, in the order of their numbers.
  public static let known = (1..<names.count).map { ObjectKind(UInt8($0)) }

  /// The word that options and JSON use; `kind 77` for one that this version doesn't know.
  public var description: String {
    Int(rawValue) < ObjectKind.names.count ? ObjectKind.names[Int(rawValue)] : "kind \(rawValue)"
  }

  /// The kind of that word, nil when there is none.
  public init?(word: String) {
    guard let index = ObjectKind.names.dropFirst().firstIndex(of: word) else { return nil }
    self.init(UInt8(index))
  }
}
