// The rows that types fall into, and which row a birth site belongs to. Made once by Analysis, used by every question.
import LifespanTrace

/// The function that names what has no name: it makes a closure, a thread runs it.
public struct FunctionName: Sendable, Hashable {
  /// Its name.
  public var name: String
  /// Its module.
  public var module: String

  /// Memberwise.
  public init(name: String, module: String) {
    self.name = name
    self.module = module
  }

  /// What is called after it: `closure in FUNCTION`, `thread in FUNCTION`.
  func row(of type: TypeRecord) -> FunctionName {
    // A context of one value may be a box: which of the two, nothing at run time tells.
    FunctionName(name: (type.mayBeBox ? "box or " : "") + "\(type.kind) in " + name, module: module)
  }
}

/// How types become rows where the trace alone can't tell: a report knows symbols, this layer does not.
public struct RowNaming {
  /// The function that a return address lies in: it makes a closure, or a thread runs it. Closures, or threads, of one
  /// name and module are then one row.
  public var function: ((ReturnAddress) -> FunctionName?)?
  /// Blocks of malloc by who allocates them instead of by their size: the library or program that a stack belongs to.
  public var blockOwner: ((StackID) -> String)?

  /// Memberwise.
  public init(function: ((ReturnAddress) -> FunctionName?)? = nil, blockOwner: ((StackID) -> String)? = nil) {
    self.function = function
    self.blockOwner = blockOwner
  }
}

/// The types of a trace by row: one row a raw name (and kind), one a caller for closures.
public struct TypeCatalog: Sendable {
  private struct Key: Hashable {
    var kind: ObjectKind
    var name: String
    var module: String
    var caller: ReturnAddress?
  }

  /// One identity a row.
  public private(set) var rows: [TypeIdentity] = []
  private var rowOfType: [TypeID: Int] = [:]
  /// The row of each site, by its number.
  public let rowOfSite: [Int]
  // Kinds that were recorded, whether there is anything of them or not.
  private let isRecorded: Set<ObjectKind>

  init(_ trace: Trace, naming: RowNaming) {
    var keys: [Key: Int] = [:]
    for record in trace.types {
      let isUnnamed = record.name.isEmpty
      let caller = isUnnamed ? record.caller : nil
      let given = caller.flatMap { naming.function?($0) }.map { $0.row(of: record) }
      let key = Key(
        kind: record.kind, name: given?.name ?? record.name, module: given?.module ?? "",
        caller: given == nil ? caller : nil)
      if let known = keys[key] {
        rowOfType[record.id] = known
        rows[known].isTracked = rows[known].isTracked || record.isTracked
        rows[known].isTrackedLate = rows[known].isTrackedLate || record.isTrackedLate
        continue
      }
      keys[key] = rows.count
      rowOfType[record.id] = rows.count
      let plain = given?.name ?? (record.kind == .vm ? record.name : TypeName.plain(record.name))
      rows.append(
        TypeIdentity(
          id: record.id, name: plain, rawName: record.name, kind: record.kind,
          module: given?.module ?? TypeName.module(plain), caller: caller, isTracked: record.isTracked,
          isTrackedLate: record.isTrackedLate))
    }
    var rowOfSite: [Int] = []
    rowOfSite.reserveCapacity(trace.sites.count)
    var owned: [String: Int] = [:]
    for site in trace.sites {
      let row = TypeCatalog.row(site.type, &rowOfType, &rows)
      if rows[row].kind == .malloc, let owner = naming.blockOwner?(site.stack) {
        rowOfSite.append(TypeCatalog.row(ofBlocksOf: owner, like: rows[row], &owned, &rows))
      } else {
        rowOfSite.append(row)
      }
    }
    for total in trace.totals { _ = TypeCatalog.row(total.type, &rowOfType, &rows) }
    self.rowOfSite = rowOfSite
    isRecorded = trace.info["vm"] == "all" ? [.vm] : []
  }

  private static func row(
    ofBlocksOf owner: String, like type: TypeIdentity, _ owned: inout [String: Int], _ rows: inout [TypeIdentity]
  ) -> Int {
    if let row = owned[owner] { return row }
    owned[owner] = rows.count
    let name = "malloc in \(owner)"
    rows.append(TypeIdentity(id: type.id, name: name, rawName: name, kind: .malloc, module: owner))
    return rows.count - 1
  }

  /// A cut trace may name types that it doesn't describe: each gets a row of its own.
  private static func row(_ type: TypeID, _ known: inout [TypeID: Int], _ rows: inout [TypeIdentity]) -> Int {
    if let row = known[type] { return row }
    let name = "(type \(type))"
    known[type] = rows.count
    rows.append(TypeIdentity(id: type, name: name, rawName: name, kind: ObjectKind(0), module: ""))
    return rows.count - 1
  }

  /// The row of a type.
  public func row(_ type: TypeID) -> Int? { rowOfType[type] }

  /// Which rows the filter keeps. Throws where a pattern, a module or a kind is that of no type of the recording at all:
  /// a limit that looks at nothing must not hold by a slip of the keyboard.
  public func selection(_ filter: TypeFilter) throws(QuestionError) -> [Bool] {
    for pattern in filter.include {
      let alone = TypeFilter(include: [pattern])
      guard rows.contains(where: { alone.keeps($0) }) else {
        let names = rows.lazy.map(\.name).filter { !$0.isEmpty }
        throw .unknownType(pattern, nearest: Nearest.names(to: pattern, among: names))
      }
    }
    for module in filter.modules where !rows.contains(where: { $0.module == module }) {
      let names = rows.lazy.map(\.module).filter { !$0.isEmpty }
      throw .unknownModule(module, nearest: Nearest.names(to: module, among: names))
    }
    let missing = filter.kinds.filter { kind in !isRecorded.contains(kind) && !rows.contains { $0.kind == kind } }
    if let missed = missing.first(where: ObjectKind.optional.contains) ?? missing.first,
      missing.count == filter.kinds.count || ObjectKind.optional.contains(missed)
    {
      throw .unknownKind(missed, others: Set(rows.map(\.kind)).sorted())
    }
    return rows.map { filter.keeps($0) }
  }

  /// Which sites a question about the selected rows follows. A block of malloc may move to another row (`realloc` changes its
  /// size, or it turns out to be an object): all of them are followed where one of its rows is asked for.
  func followed(_ selected: [Bool], _ trace: Trace) -> [Bool] {
    let isAny = rows.indices.contains { selected[$0] && (rows[$0].kind == .malloc || trace.knowsTypesLate) }
    return rowOfSite.map { selected[$0] || (isAny && rows[$0].kind == .malloc) }
  }

  /// Which of the selected rows the sums are of. Tokens, threads and regions are no memory of the heap: they are summed up only
  /// where nothing else was asked for.
  func summed(_ selected: [Bool], _ filter: TypeFilter) -> [Bool] {
    if isOfNoHeap(selected, filter) { return selected }
    return rows.indices.map { selected[$0] && rows[$0].kind.isOnHeap }
  }

  /// Whether the filter asks for these and nothing else.
  func isOfNoHeap(_ selected: [Bool], _ filter: TypeFilter) -> Bool {
    filter != TypeFilter() && rows.indices.allSatisfy { !selected[$0] || !rows[$0].kind.isOnHeap }
  }
}
