// Finds the symbols of one image: the file itself (also in a folder that a reader names), or its separate debug file. Says what is missing and what mends it.

/// Why functions of an image can't all be named.
public enum SymbolProblem: Hashable, Sendable {
  /// No file at the recorded path.
  case missingFile(String)
  /// The file there is another build than the one that ran.
  case otherBuild(ran: BuildID, found: BuildID)
  /// The file is no ELF file.
  case notElf
  /// Only exported functions have names in it.
  case stripped(BuildID)
  /// Its functions have names, but there are no files and lines.
  case noLines(BuildID)
}

/// The problem of one image, for the last lines of a report.
public struct SymbolNote: Hashable, Sendable {
  /// The image.
  public let image: CodeImage
  /// What keeps its functions from being named.
  public let problem: SymbolProblem

  private static let cure =
    "put the file that ran back there, or name a folder that holds it with --symbols."

  /// One sentence: which image, why, and what mends it.
  public var text: String {
    switch problem {
    case .missingFile(let reason):
      return "\(image.path): \(reason), so its functions have no names; "
        + Self.cure
    case .otherBuild(let ran, let found):
      let ran = ran.isEmpty ? "no build-id" : "build-id \(ran)"
      let found = found.isEmpty ? "no build-id" : "build-id \(found)"
      return "\(image.path) is another build (\(found)) than the one that ran (\(ran)), so its functions "
        + "have no names; " + Self.cure
    case .notElf:
      return "\(image.path) is no ELF file, so its functions have no names; "
        + Self.cure
    case .stripped(let id):
      let file = id.isEmpty ? "no debug file is linked to it" : "there is no debug file for build-id \(id)"
      return "\(image.fileName) is stripped and \(file), so only its exported functions have names; "
        + "link it without -s and do not strip it, or install its debug file (--debug-path names its folder)."
    case .noLines:
      return "\(image.fileName) was built without -g, so its frames have no file and line; build it with -g "
        + "(swiftc -g; swift build does), or install its debug file (--debug-path names its folder)."
    }
  }
}

/// The functions and lines of one image and what is known to be missing.
struct ImageSymbols {
  let table: SymbolTable
  let lines: LineTable?
  let problem: SymbolProblem?

  /// `places`: where it is looked for first; another build there is passed over.
  init(image: CodeImage, places: SymbolPlaces = SymbolPlaces(), debugRoot: String = SymbolPlaces.systemDebugPath) {
    let moved = places.places(of: image).first { (try? ElfFile(path: $0))?.buildID() == image.buildID }
    self.init(image: image, path: moved ?? image.path, debugRoots: places.debugRoots(last: debugRoot))
  }

  /// `path`: where its file lies here.
  private init(image: CodeImage, path: String, debugRoots: [String]) {
    do throws(ElfError) {
      let file = try ElfFile(path: path)
      let found = file.buildID()
      let isSame = found == image.buildID
      let own = isSame ? file.symbols() : Self.nothing
      let ownLines = isSame ? file.lines() : nil
      // The debug file of the build that ran names its functions even when the program was built anew since.
      let separate =
        own.isComplete && ownLines != nil
        ? nil : Self.debugFile(image: image, file: isSame ? file : nil, path: path, debugRoots: debugRoots)
      table = own.isComplete ? own : separate?.symbols() ?? own
      lines = ownLines ?? separate?.lines()
      if !isSame, separate == nil {
        problem = .otherBuild(ran: image.buildID, found: found)
      } else if !table.isComplete {
        problem = .stripped(found)
      } else {
        problem = lines == nil ? .noLines(found) : nil
      }
    } catch {
      // Also where the file itself is gone its debug file may be there, which has the whole table.
      let separate = Self.debugFile(image: image, file: nil, path: path, debugRoots: debugRoots)
      table = separate?.symbols() ?? Self.nothing
      lines = separate?.lines()
      switch error {
      case _ where separate != nil: problem = lines == nil ? .noLines(image.buildID) : nil
      case .cannotOpen(let reason): problem = .missingFile(reason)
      case .notElf: problem = .notElf
      }
    }
  }

  private static let nothing = SymbolTable(entries: [], names: [], isComplete: false)

  /// `.build-id/xx/yyy.debug` or the file that the debug link names, where it has all functions; nil when none is of this
  /// build.
  private static func debugFile(
    image: CodeImage, file: ElfFile?, path: String, debugRoots: [String]
  ) -> ElfFile? {
    var candidates: [String] = []
    let id = image.buildID.description
    if id.utf8.count > 2 { candidates += debugRoots.map { "\($0)/.build-id/\(id.prefix(2))/\(id.dropFirst(2)).debug" } }
    if let link = file?.debugLink() {
      let recorded = String(image.path.dropLast(image.fileName.count))
      let folder = String(path.dropLast(image.fileName.count))
      candidates +=
        ["\(folder)\(link)", "\(folder).debug/\(link)"]
        + debugRoots.flatMap { ["\($0)\(recorded)\(link)", "\($0)/\(link)"] }
    }
    for candidate in candidates where candidate != path {
      guard let debug = try? ElfFile(path: candidate), debug.buildID() == image.buildID else { continue }
      if debug.symbols().isComplete { return debug }
    }
    return nil
  }
}
