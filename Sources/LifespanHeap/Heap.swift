// A picture of the heap together with what the recording knows of its objects: the beginning of every answer. Made by the
// command from an Analysis; LeakSearch, Holders and AbandonedSearch ask it.
import LifespanAnalysis
import LifespanTrace

/// What this layer can't know of a stack: symbols belong to the report.
public struct HeapNaming {
  /// The functions that allocated, from the innermost of the program's own outwards; without addresses and whatever else differs
  /// between two runs.
  public var functions: (StackID) -> [String]
  /// Whether a library of the toolchain or the system allocated, on its own account.
  public var isToolchains: (StackID) -> Bool
  /// Whether a type is one of the toolchain's.
  public var isToolchainType: (TypeIdentity) -> Bool
  /// Why objects of a type are lost by the toolchain itself, whatever the program does; nil where that is not known of them.
  public var toolchainsReason: (TypeIdentity) -> String?

  /// Memberwise; without names everything is the program's own.
  public init(
    functions: @escaping (StackID) -> [String] = { _ in [] },
    isToolchains: @escaping (StackID) -> Bool = { _ in false },
    isToolchainType: @escaping (TypeIdentity) -> Bool = { _ in false },
    toolchainsReason: @escaping (TypeIdentity) -> String? = { _ in nil }
  ) {
    self.functions = functions
    self.isToolchains = isToolchains
    self.isToolchainType = isToolchainType
    self.toolchainsReason = toolchainsReason
  }
}

/// A picture, ready to be asked.
///
/// Memory: that of the picture (33 bytes a node, 13 an edge) and 60 bytes a node, 9 an edge.
public final class Heap {
  /// The picture.
  public let graph: HeapGraph
  /// The rows that its nodes fall into: the catalog's, then one for each name that only the memory told.
  public let types: [TypeIdentity]
  let rows: [UInt32]
  let stacks: [UInt32]
  let generations: [UInt32]
  let births: Births
  let holding: HoldingEdges
  let reach: Reach
  /// Marks that were set by the time of the picture.
  public let marks: [TraceInformation.Mark]
  /// What the recording as a whole says.
  public let information: TraceInformation
  private var madeDominators: Dominators?

  /// Looks up the births of all nodes in one pass over the events.
  public init(_ graph: HeapGraph, _ analysis: Analysis) throws(Analysis.Failure) {
    self.graph = graph
    var serials = graph.nodes.serials.filter { $0 != 0 }.sorted()
    if zip(serials, serials.dropFirst()).contains(where: { $0 == $1 }) { serials = Set(serials).sorted() }
    births = try analysis.answer(BirthsQuestion(serials: serials))
    do {
      information = try analysis.information()
    } catch {
      throw .trace(error)
    }
    marks = Heap.marks(information, at: graph.head)
    var stacks = [UInt32](repeating: StackID.none.rawValue, count: graph.nodes.count)
    var generations = [UInt32](repeating: Births.unknown, count: graph.nodes.count)
    for (node, serial) in graph.nodes.serials.enumerated() where serial != 0 {
      guard let place = births.place(of: serial), births.generations[place] != Births.unknown else { continue }
      stacks[node] = births.stacks[place]
      generations[node] = births.generations[place]
    }
    self.stacks = stacks
    self.generations = generations
    (types, rows) = Heap.rows(graph, analysis.catalog)
    holding = HoldingEdges(graph)
    reach = Reach(holding)
  }

  private static func marks(_ information: TraceInformation, at head: HeapGraph.Head) -> [TraceInformation.Mark] {
    switch head.point {
    case .exit: information.marks
    // The picture belongs to its mark, whichever of the two has the later stamp.
    case .mark, .request: information.marks.filter { $0.time <= head.time }
    }
  }

  /// The catalog's row of a type; of a block that has none, or is known as malloc's only, the name that its memory told.
  private static func rows(_ graph: HeapGraph, _ catalog: TypeCatalog) -> ([TypeIdentity], [UInt32]) {
    var types = catalog.rows
    var named: [UInt32: UInt32] = [:]
    var rows = [UInt32](repeating: 0, count: graph.nodes.count)
    for node in 0..<graph.nodes.count {
      let type = graph.nodes.types[node]
      let name = graph.nodes.names[node]
      if type != HeapGraph.noType, let row = catalog.row(TypeID(type)), name == 0 || types[row].kind != .malloc {
        rows[node] = UInt32(row)
        continue
      }
      if let row = named[name] {
        rows[node] = row
        continue
      }
      let text = name == 0 ? "block of unknown type" : graph.name(name)
      rows[node] = UInt32(types.count)
      named[name] = rows[node]
      types.append(TypeIdentity(id: TypeID(0), name: text, rawName: text, kind: .malloc, module: ""))
    }
    return (types, rows)
  }

  /// Made when it is first asked for.
  var dominators: Dominators {
    if let madeDominators { return madeDominators }
    let made = Dominators(holding, reach)
    madeDominators = made
    return made
  }

  func type(_ node: Int) -> TypeIdentity { types[Int(rows[node])] }

  /// How many of the picture's roots are of that grade.
  public func rootCount(isFirm: Bool) -> Int { reach.roots.reduce(0) { $0 + ($1.isFirm == isFirm ? 1 : 0) } }

  /// Objects and blocks in the picture, free memory left out.
  public var nodeCount: Int { (0..<graph.nodes.count).reduce(0) { $0 + (isFree($1) ? 0 : 1) } }

  func isFree(_ node: Int) -> Bool { graph.flags(node).contains(.freeMemory) }

  /// Why no leak can be told from this picture; nil where it can.
  public var leaksWithheld: String? {
    if !graph.head.isComplete {
      let why = graph.head.notes.first.map { ": \($0)" } ?? ""
      return "the picture of the heap is not complete\(why)"
    }
    let lost = information.lost
    if lost.births > 0 || lost.deaths > 0 {
      return "\(lost.births) births and \(lost.deaths) deaths were lost, so that what holds an object may not be known"
    }
    return nil
  }
}
