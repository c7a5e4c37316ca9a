// What Allocations.holders(of:) answers, and the references that it and leaks are told by.

extension Allocations {
  /// An object, and the reference in it that leads on to another one.
  public struct Reference: Sendable, Hashable, CustomStringConvertible {
    /// How it refers.
    public enum Strength: Sendable, Hashable {
      /// A strong reference.
      case strong
      /// A weak one: it keeps nothing alive.
      case weak
      /// An unowned one: it keeps nothing alive.
      case unowned
      /// An unmanaged or `unowned(unsafe)` one: it keeps nothing alive.
      case unmanaged
      /// A word that is an address, where the layout is not known: it counts as one that keeps alive.
      case conservative
    }

    /// The object's type, as in ``StatisticsRow/type``; what its memory tells, where it is a block of malloc.
    public let type: String
    /// Where the object lies.
    public var address: Address { Address(rawValue: ~place) }
    /// Not the address itself: an answer that is kept must not look like a reference to what it tells of.
    let place: UInt64
    /// Its number in the recording; nil where it is not known.
    public let serial: Serial?
    /// The property, element or capture that refers; nil where that is not known, and of the last step of a path.
    public let property: String?
    /// The function whose closure the object behind the reference is the context of; nil where it is none.
    public let function: String?
    /// Bytes into the object at which the reference stands.
    public let offset: Int
    /// How it refers.
    public let strength: Strength

    /// `MyApp.Node.next`, `array of MyApp.Node[3]`, `MyApp.Page+24` where the property is not known.
    public var description: String {
      let place = property.map { $0.hasPrefix("[") ? $0 : "." + $0 } ?? (offset == 0 ? "" : "+\(offset)")
      return type + place + (function.map { " (\($0))" } ?? "")
    }
  }

  /// Something outside of the heap that refers to an object.
  public struct Root: Sendable, Hashable, CustomStringConvertible {
    /// Where it stands.
    public enum Kind: String, Sendable, Hashable {
      /// A variable of an image.
      case global
      /// A word of a thread's stack.
      case stack
      /// A register.
      case register
      /// Thread-local storage.
      case threadLocal = "thread-local"
      /// Other memory that the program has mapped.
      case mapping
      /// A block that was being moved.
      case inFlight = "being moved"
      /// Memory that the recorder does not know: blocks of malloc, objects that are not recorded.
      case unknownMemory = "memory that is not recorded"
    }

    /// Where it stands.
    public let kind: Kind
    /// False of what may be a left-over: a word of a stack, a register, or memory that is not known, which may be free.
    public let isFirm: Bool
    /// The variable, or the function of the stack's frame, demangled; nil where there is no symbol for it.
    public let name: String?
    /// The file that is mapped there; nil where there is none.
    public let file: String?
    /// Bytes into the variable.
    public let offset: Int
    /// The thread of a stack, a register, a thread-local; nil where it is not known.
    public let thread: ThreadNumber?

    /// `global MyApp.cache`, `stack of thread 1, frame MyApp.run()`.
    public var description: String {
      let image = file.flatMap { $0.split(separator: "/").last }.map { " of \($0)" } ?? ""
      let owner = thread.map { " of thread \($0.rawValue)" } ?? ""
      return switch kind {
      case .global: "global " + (name ?? "data" + image)
      case .threadLocal: "thread-local " + (name.map { $0 + owner } ?? "storage" + owner)
      case .stack, .register: kind.rawValue + owner + (name.map { ", frame \($0)" } ?? "")
      case .mapping: image.isEmpty ? "memory that the program has mapped" : "mapped memory" + image
      case .inFlight, .unknownMemory: kind.rawValue
      }
    }
  }

  /// A way to an object.
  public struct Path: Sendable, Hashable, CustomStringConvertible {
    /// Where it begins; nil where no root is at its begin: then the first step is the head of a leak.
    public let root: Root?
    /// From there to the object itself, each with the reference that leads on.
    public let steps: [Reference]

    /// `global MyApp.cache → dictionary of MyApp.Page.value → MyApp.Page`.
    public var description: String {
      ((root.map { [$0.description] } ?? []) + steps.map { $0.description }).joined(separator: " → ")
    }
  }

  /// Who holds one object.
  public struct HolderReport: Sendable, Hashable {
    /// Whether something keeps the object alive.
    public enum Reach: Sendable, Hashable {
      /// No root reaches it: it is leaked.
      case unreachable
      /// Only what may be a left-over reaches it: see ``Root/isFirm``. The caller's own reference is such a one.
      case perhaps
      /// A variable or another firm root reaches it.
      case reachable
    }

    /// References of one kind to the object.
    public struct Holder: Sendable, Hashable {
      /// Who refers, and by which property; one of them, where there are several.
      public let reference: Reference
      /// How many such references there are.
      public let count: Int
      /// Whether they keep the object alive.
      public let holds: Bool
    }

    /// The object.
    public let object: Reference
    /// Whether something keeps it alive.
    public let reach: Reach
    /// Objects and blocks that refer to it: those that keep it alive first, then the most frequent first.
    public let holders: [Holder]
    /// Roots that refer to it directly.
    public let roots: [Root]
    /// The shortest way from a root, firm ones first; from the head of its leak where no root reaches it; nil where nothing
    /// leads to it.
    public let path: Path?
    /// Everything that can hold an object was known; where false, ``notes`` say why.
    public let isComplete: Bool
    /// What limits the answer, a sentence each.
    public let notes: [String]
    /// How long the program's threads stood still for it.
    public let pauseNanoseconds: UInt64
  }
}

extension Allocations.HolderReport {
  /// Who holds the object, behind “held by”; nil where nothing leads to it and something holds it.
  package static func holder(_ path: String?, _ reach: Reach) -> String? {
    switch reach {
    case .unreachable: path.map { "nobody, it is leaked: " + $0 } ?? "nobody, it is leaked"
    case .perhaps: path.map { $0 + ", perhaps" }
    case .reachable: path
    }
  }

  /// The end of a line about an object; empty where nothing is known and nothing says why.
  static func words(_ path: [String], _ reach: Reach?, _ unknown: String?) -> String {
    let path = path.isEmpty ? nil : path.joined(separator: " → ")
    if let reach { return holder(path, reach).map { "; held by " + $0 } ?? "" }
    return unknown.map { "; who holds it " + $0 } ?? ""
  }
}
