// A picture of the heap: all blocks of a frozen program, who refers to whom, and what the program itself holds.
// Made by the recording command through HeapGraphBuilder, coded by HeapGraph+Chunks, read by Trace, asked by LifespanHeap.

/// The heap of a program at one moment, as columns.
///
/// A node is a block of memory (an object, a side table, a block of malloc); an edge is a word in it that refers to another
/// one; a root is a word outside the heap that does. Nodes are in the order of their addresses, edges in that of their sources.
/// Memory: 33 bytes a node, 13 an edge.
public struct HeapGraph: Sendable, Equatable {
  /// Why the picture was taken.
  public enum Point: Sendable, Hashable {
    /// The program ended.
    case exit
    /// A mark was set; the generation that it closed.
    case mark(Generation)
    /// Somebody asked while it ran.
    case request
  }

  /// What is known of the picture without its nodes.
  public struct Head: Sendable, Hashable {
    /// Which picture of the recording, from 1.
    public var number: UInt32
    /// When.
    public var time: TraceTime
    /// Why.
    public var point: Point
    /// How long the program stood still for it.
    public var pauseNanoseconds: UInt64
    /// Objects whose layout was known and looked at.
    public var objectsChecked: UInt64
    /// False where something could not be seen that may hold objects: no leak may then be told from it.
    public var isComplete: Bool
    /// What could not be seen, and why.
    public var notes: [String]

    /// Memberwise.
    public init(
      number: UInt32, time: TraceTime, point: Point = .exit, pauseNanoseconds: UInt64 = 0, objectsChecked: UInt64 = 0,
      isComplete: Bool = true, notes: [String] = []
    ) {
      self.number = number
      self.time = time
      self.point = point
      self.pauseNanoseconds = pauseNanoseconds
      self.objectsChecked = objectsChecked
      self.isComplete = isComplete
      self.notes = notes
    }
  }

  /// The nodes, by column.
  public struct Nodes: Sendable, Equatable {
    /// Where each begins; ascending.
    public internal(set) var addresses: [UInt64] = []
    /// Bytes of each, as they were asked for.
    public internal(set) var sizes: [UInt64] = []
    /// Its number in the recording; 0 where the recorder does not know the block.
    public internal(set) var serials: [UInt64] = []
    /// The trace's type; `HeapGraph.noType` where it has none.
    public internal(set) var types: [UInt32] = []
    /// A name that its memory told, better than its type's; 0 none.
    public internal(set) var names: [UInt32] = []
    /// See `HeapNodeFlags`.
    public internal(set) var flags: [UInt8] = []
    /// How many.
    public var count: Int { addresses.count }
  }

  /// The edges, by column; those of node n stand at `HeapGraph.edges(of: n)`.
  public struct Edges: Sendable, Equatable {
    /// Where each node's edges begin, and at the end how many there are: one more than nodes.
    public internal(set) var starts: [UInt32] = [0]
    /// The node that each refers to.
    public internal(set) var targets: [UInt32] = []
    /// Where in the source it stands.
    public internal(set) var offsets: [UInt32] = []
    /// The property or element; 0 not known.
    public internal(set) var labels: [UInt32] = []
    /// See `HeapStrength`.
    public internal(set) var strengths: [UInt8] = []
    /// How many.
    public var count: Int { targets.count }
  }

  /// What holds a node from outside of the heap.
  public struct Root: Sendable, Hashable {
    /// The node.
    public var target: UInt32
    /// Where it stands.
    public var kind: HeapRootKind
    /// False of what may be a left-over: a word of a stack or a register.
    public var isFirm: Bool
    /// A name for it: `MyApp.cache`, `stack of thread 3 "worker", frame MyApp.run()`; 0 none.
    public var label: UInt32
    /// Bytes into what `label` names.
    public var offset: UInt64
    /// The thread of a stack, a register, a thread-local.
    public var thread: ThreadID

    /// Memberwise.
    public init(
      target: UInt32, kind: HeapRootKind, isFirm: Bool = true, label: UInt32 = 0, offset: UInt64 = 0,
      thread: ThreadID = .unknown
    ) {
      self.target = target
      self.kind = kind
      self.isFirm = isFirm
      self.label = label
      self.offset = offset
      self.thread = thread
    }
  }

  /// The type of a node that has none.
  public static let noType = UInt32.max

  /// When, why, how completely.
  public var head: Head
  /// The blocks.
  public internal(set) var nodes = Nodes()
  /// Who refers to whom.
  public internal(set) var edges = Edges()
  /// What holds blocks from outside.
  public internal(set) var roots: [Root] = []
  /// The texts that labels and names number; the first is empty.
  public internal(set) var names: [String] = [""]

  init(_ head: Head) { self.head = head }

  /// The places of a node's edges.
  @inline(__always)
  public func edges(of node: Int) -> Range<Int> { Int(edges.starts[node])..<Int(edges.starts[node + 1]) }

  /// The strength of the edge at a place.
  public func strength(_ edge: Int) -> HeapStrength { HeapStrength(coded: edges.strengths[edge]) }

  /// The flags of a node.
  public func flags(_ node: Int) -> HeapNodeFlags { HeapNodeFlags(rawValue: nodes.flags[node]) }

  /// The text of that number; empty where there is none.
  public func name(_ id: UInt32) -> String { Int(id) < names.count ? names[Int(id)] : "" }

  /// The node that an address lies in; nil where none does.
  public func node(at address: UInt64) -> Int? {
    var low = 0
    var high = nodes.count
    while low < high {
      let middle = (low + high) / 2
      if nodes.addresses[middle] <= address { low = middle + 1 } else { high = middle }
    }
    guard low > 0 else { return nil }
    let offset = address - nodes.addresses[low - 1]
    return offset < max(1, nodes.sizes[low - 1]) ? low - 1 : nil
  }
}

/// What is special about a node.
public struct HeapNodeFlags: OptionSet, Sendable, Hashable {
  /// The bits in the file.
  public let rawValue: UInt8
  /// Wraps bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Its deinit has begun or ended, unowned references keep its memory: it holds nothing any more.
  public static let deinited = HeapNodeFlags(rawValue: 1)
  /// The side table of an object with weak references; belongs to that object.
  public static let sideTable = HeapNodeFlags(rawValue: 2)
  /// A task.
  public static let task = HeapNodeFlags(rawValue: 4)
  /// Free memory that a cache keeps: no object, and what stands in it holds nothing.
  public static let freeMemory = HeapNodeFlags(rawValue: 8)
  /// Its birth or death was on its way when the program was stopped: held, whoever refers to it.
  public static let inFlight = HeapNodeFlags(rawValue: 16)
}

/// How an edge holds its target.
public enum HeapStrength: UInt8, Sendable, Codable, Hashable {
  /// It keeps it alive.
  case strong = 0
  /// It does not; it becomes nil.
  case weak = 1
  /// It keeps its memory, not the object.
  case unowned = 2
  /// `unowned(unsafe)`, `Unmanaged`: it keeps nothing.
  case unmanaged = 3
  /// A word that looks like a reference, in a place of unknown layout: taken for one that holds.
  case conservative = 4

  /// What a newer recorder writes is taken for one that holds: better an object too many that is reachable.
  init(coded: UInt8) { self = HeapStrength(rawValue: coded) ?? .conservative }

  /// Whether the target lives as long as the source does.
  public var holds: Bool { self == .strong || self == .conservative }
}

/// Where a root stands.
public enum HeapRootKind: UInt8, Sendable, Codable, Hashable {
  /// A global or static variable.
  case global = 0
  /// A thread's stack.
  case stack = 1
  /// A register.
  case register = 2
  /// A thread-local variable, or what the C library keeps of a thread.
  case threadLocal = 3
  /// Memory that is no block: a mapping of the program's own.
  case mapping = 4
  /// A block whose birth or death was on its way.
  case inFlight = 5
  /// Something else.
  case unknown = 6

  init(coded: UInt8) { self = HeapRootKind(rawValue: coded) ?? .unknown }
}
