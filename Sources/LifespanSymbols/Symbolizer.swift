// Names addresses of code: what the renderers ask for every frame they show. Reads a file when the first frame needs it.

/// Names code locations: by the symbols of the files that ran, or in a test by a table.
public protocol FrameNamer {
  /// The named frame of one location: the function whose code it is.
  func frame(at location: CodeLocation) -> Frame
  /// The same after the functions that were inlined there, from the innermost outwards.
  func frames(at location: CodeLocation) -> [Frame]
  /// What kept frames shown so far from being named.
  var notes: [SymbolNote] { get }
}

extension FrameNamer {
  /// Where no inlined functions are known.
  public func frames(at location: CodeLocation) -> [Frame] { [frame(at: location)] }

  /// The first frame, from the innermost, that is neither runtime nor allocator nor system: who allocated.
  /// The innermost frame that is named at all when there is no such frame; nil for an empty stack.
  public func responsibleFrame(of stack: some Sequence<CodeLocation>) -> Frame? {
    var fallback: Frame?
    for frame in stack.lazy.flatMap({ frames(at: $0) }) {
      if frame.origin == .program {
        // Without optimisation every object is made by its own class's allocating initialiser: the next one says who.
        guard frame.function.contains("__allocating_init") else { return frame }
        if fallback?.origin != .program { fallback = frame }
      }
      if fallback == nil, frame.offset != nil || frame.inlined { fallback = frame }
    }
    return fallback
  }
}

/// Names code locations. Not for several threads at once. Memory: the symbol tables of the images that were asked for.
public final class Symbolizer: FrameNamer {
  private let demangler = Demangler()
  private let places: SymbolPlaces
  private let debugRoot: String
  private var images: [CodeImage: ImageSymbols] = [:]
  private var order: [CodeImage] = []
  private var frames: [CodeLocation: [Frame]] = [:]
  private var unnamed: Set<CodeImage> = []
  private let readsLines: Bool

  /// A symbolizer that looks for files where a reader says that they lie, then where they ran; for separate debug files also
  /// below `debugRoot`, as gdb does, and beside the images. `lines`: also files, lines and inlined functions.
  public init(
    places: SymbolPlaces = SymbolPlaces(), debugRoot: String = SymbolPlaces.systemDebugPath, lines: Bool = true
  ) {
    readsLines = lines
    self.places = places
    self.debugRoot = debugRoot
  }

  /// The named frame of one location. The same location gives the same frame without looking again.
  public func frame(at location: CodeLocation) -> Frame {
    let all = frames(at: location)
    return all[all.count - 1]
  }

  /// The same after the functions that were inlined there.
  public func frames(at location: CodeLocation) -> [Frame] {
    if let known = frames[location] { return known }
    let named = name(location)
    frames[location] = named
    return named
  }

  /// What kept frames shown so far from being named, in the order in which the images were met.
  public var notes: [SymbolNote] {
    order.compactMap { image in
      guard unnamed.contains(image), let problem = images[image]?.problem else { return nil }
      return SymbolNote(image: image, problem: problem)
    }
  }

  private func name(_ location: CodeLocation) -> [Frame] {
    guard let image = location.image else {
      return [Frame(function: "0x" + String(location.address.value, radix: 16), module: "?", origin: .system)]
    }
    let symbols = symbols(of: image)
    guard let (match, lookup) = match(location.address, in: symbols.table) else {
      return unlisted(location, image, symbols)
    }
    var places = readsLines ? symbols.lines?.places(at: lookup) ?? [] : []
    let own = places.popLast()
    let origin = FrameOrigin.of(image: image, mangled: match.mangled)
    if origin == .program, case .noLines = symbols.problem { unnamed.insert(image) }
    return places.map { inlined($0, image) } + [
      Frame(
        function: demangler.demangle(match.mangled), offset: location.address.value &- match.start,
        module: image.moduleName, file: own?.file, line: own?.line, origin: origin,
        isAllocator: FrameOrigin.isAllocator(mangled: match.mangled))
    ]
  }

  /// Where the table has no function. Some that the compiler merged are in debugging information alone.
  private func unlisted(_ location: CodeLocation, _ image: CodeImage, _ symbols: ImageSymbols) -> [Frame] {
    var places = readsLines ? symbols.lines?.places(at: location.address.lookup) ?? [] : []
    let own = places.popLast()
    if own?.function == nil { unnamed.insert(image) }
    let number = "\(image.fileName) + 0x\(String(location.address.value, radix: 16))"
    return places.map { inlined($0, image) } + [
      Frame(
        function: own?.function.map(demangler.demangle) ?? number, module: image.moduleName, file: own?.file,
        line: own?.line, origin: .of(image: image, mangled: own?.function),
        isAllocator: own?.function.map(FrameOrigin.isAllocator) ?? false)
    ]
  }

  private func inlined(_ place: LineTable.Place, _ image: CodeImage) -> Frame {
    Frame(
      function: place.function.map(demangler.demangle) ?? "a function without a name", module: image.moduleName,
      file: place.file, line: place.line, inlined: true, origin: .of(image: image, mangled: place.function),
      isAllocator: place.function.map(FrameOrigin.isAllocator) ?? false)
  }

  /// The function, and the address that lies in it. An async function's continuation is recorded by where it begins, not by
  /// where a call returned to: the byte before belongs to whatever function lies before it.
  private func match(_ address: CodeAddress, in table: SymbolTable) -> (SymbolTable.Match, lookup: UInt64)? {
    if case .returnAddress(let value) = address, let begun = table.function(startingAt: value),
      Self.isContinuation(begun.mangled)
    {
      return (begun, value)
    }
    return table.function(at: address.lookup).map { ($0, address.lookup) }
  }

  /// Whether a mangled name ends in `TY<n>_` or `TQ<n>_`.
  static func isContinuation(_ mangled: String) -> Bool {
    guard mangled.hasSuffix("_") else { return false }
    let head = mangled.dropLast().reversed().drop { $0.isNumber }
    let suffix = head.prefix(2).map { $0 }
    return suffix == ["Y", "T"] || suffix == ["Q", "T"]
  }

  private func symbols(of image: CodeImage) -> ImageSymbols {
    if let known = images[image] { return known }
    let read = ImageSymbols(image: image, places: places, debugRoot: debugRoot)
    images[image] = read
    order.append(image)
    return read
  }
}
