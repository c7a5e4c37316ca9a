// Turns the numbers in analysis values into names: types, frames, who allocated. Shared by all renderers of one report.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// Names for one report. Names what is shown and nothing else, each thing once.
public final class ReportNames {
  private let symbolizer: any FrameNamer
  private let stacks: any StackSource
  private var typeNames: [TypeID: String] = [:]
  private var traces: [StackID: StackTrace] = [:]
  private var allocators: [StackID: Frame?] = [:]
  private var blockOwners: [StackID: String] = [:]
  // Images of frames that a report has shown: only their problems matter to its reader.
  private var shown: Set<CodeImage> = []
  // And of whole frames, which have files and lines.
  private var framed: Set<CodeImage> = []

  /// Names by `symbolizer`.
  public init(stacks: any StackSource, symbolizer: any FrameNamer) {
    self.stacks = stacks
    self.symbolizer = symbolizer
  }

  /// Names by the symbols of the files that ran: those in a reader's `places`, else where they ran.
  public convenience init(stacks: any StackSource, places: SymbolPlaces = SymbolPlaces()) {
    self.init(stacks: stacks, symbolizer: Symbolizer(places: places))
  }

  /// The type as reports print it; closures by the function that makes them, threads by the one that they run.
  public func name(of type: TypeIdentity) -> String {
    if let address = type.caller { show(stacks.location(of: address)) }
    if !type.name.isEmpty { return type.name }
    if let known = typeNames[type.id] { return known }
    let name = caller(of: type).map { "\(type.kind) in " + Self.unspecialized($0) } ?? "\(type.kind) without a name"
    typeNames[type.id] = name
    return name
  }

  /// The function with this return address in it; nil where there is no address.
  public func functionName(at address: ReturnAddress) -> FunctionName? {
    guard address != ReturnAddress(0) else { return nil }
    let function = symbolizer.frame(at: stacks.location(of: address))
    return FunctionName(name: Self.unspecialized(function), module: function.module)
  }

  /// The library or program that allocated a block: that of the first frame which is no allocator's, no C or C++ library's and
  /// not the Swift runtime's own.
  public func blockOwner(of stack: StackID) -> String {
    if let known = blockOwners[stack] { return known }
    let location = trace(stack).locations.first { location in
      guard let image = location.image else { return false }
      return image.mayOwnBlocks && !symbolizer.frame(at: location).isAllocator
    }
    let owner = location?.image?.moduleName ?? (stack == .none ? "code before the start" : "unknown code")
    blockOwners[stack] = owner
    return owner
  }

  /// The function that begins at this address; nil where there is no address.
  public func function(startingAt start: UInt64) -> Frame? {
    guard start != 0 else { return nil }
    let location = stacks.location(of: ReturnAddress(start &+ 1))
    show(location)
    return symbolizer.frame(at: location)
  }

  /// Which specialisation of a function it is does not matter to a reader of types.
  static func unspecialized(_ function: Frame) -> String {
    let specialized = "specialized "
    let name = function.function
    return name.hasPrefix(specialized) ? String(name.dropFirst(specialized.count)) : name
  }

  /// The type's module; of a closure the image whose function makes it.
  public func module(of type: TypeIdentity) -> String {
    type.module.isEmpty ? caller(of: type)?.module ?? "" : type.module
  }

  /// The named frames of a stack from the innermost outwards, those of inlined functions too.
  public func frames(of stack: StackID) -> [Frame] {
    let locations = trace(stack).locations
    locations.forEach(show)
    framed.formUnion(locations.compactMap(\.image))
    return locations.flatMap { symbolizer.frames(at: $0) }
  }

  /// The functions whose code they are, without showing them: what a report asks before it knows what it prints, and what is
  /// the same with and without debugging information.
  func heapFrames(of stack: StackID) -> [Frame] { trace(stack).locations.map { symbolizer.frame(at: $0) } }

  /// Why a stack is not whole, in words; nil when it is.
  public func ending(of stack: StackID) -> String? {
    switch stack {
    case .none: return "no stack was recorded"
    case .tableFull: return "the table of stacks was full"
    default: return trace(stack).ending
    }
  }

  /// The first frame that is the program's own.
  public func allocator(of stack: StackID) -> Frame? {
    if let known = allocators[stack] { return known }
    let locations = trace(stack).locations
    locations.forEach(show)
    let frame = symbolizer.responsibleFrame(of: locations)
    allocators[stack] = .some(frame)
    return frame
  }

  /// The same; `withLines` where its file matters: what keeps that from being known is then said at the end.
  func responsibleFrame(of stack: StackID, withLines: Bool) -> Frame? {
    if withLines { framed.formUnion(trace(stack).locations.compactMap(\.image)) }
    return allocator(of: stack)
  }

  /// What kept names from being found in what was shown so far, for the end of a report.
  public var notes: [String] {
    symbolizer.notes.filter { note in
      if case .noLines = note.problem { return framed.contains(note.image) }
      return shown.contains(note.image)
    }.map(\.text)
  }

  private func show(_ location: CodeLocation) {
    if let image = location.image { shown.insert(image) }
  }

  private func caller(of type: TypeIdentity) -> Frame? {
    type.caller.map { symbolizer.frame(at: stacks.location(of: $0)) }
  }

  private func trace(_ id: StackID) -> StackTrace {
    guard id.isNode else { return StackTrace(locations: []) }
    if let known = traces[id] { return known }
    let trace = stacks.stack(id)
    traces[id] = trace
    return trace
  }
}
