// Finds the symbols of one image: the file itself, or its separate debug file. Says what is missing and what mends it.

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
}

/// The problem of one image, for the last lines of a report.
public struct SymbolNote: Hashable, Sendable {
  /// The image.
  public let image: CodeImage
  /// What keeps its functions from being named.
  public let problem: SymbolProblem

  /// One sentence: which image, why, and what mends it.
  public var text: String {
    switch problem {
    case .missingFile(let reason):
      return "\(image.path): \(reason), so its functions have no names; put the file that ran back there."
    case .otherBuild(let ran, let found):
      let ran = ran.isEmpty ? "no build-id" : "build-id \(ran)"
      let found = found.isEmpty ? "no build-id" : "build-id \(found)"
      return "\(image.path) is another build (\(found)) than the one that ran (\(ran)), so its functions "
        + "have no names; put the file that ran back there."
    case .notElf:
      return "\(image.path) is no ELF file, so its functions have no names; put the file that ran back there."
    case .stripped(let id):
      let file = id.isEmpty ? "no debug file is linked to it" : "there is no debug file for build-id \(id)"
      return "\(image.fileName) is stripped and \(file), so only its exported functions have names; "
        + "link it without -s and do not strip it, or install its debug file."
    }
  }
}

/// The functions of one image and what is known to be missing.
struct ImageSymbols {
  let table: SymbolTable
  let problem: SymbolProblem?

  /// Where separate debug files lie, as gdb has it.
  static let debugRoot = "/usr/lib/debug"

  init(image: CodeImage, debugRoot: String = ImageSymbols.debugRoot) {
    let nothing = SymbolTable(entries: [], names: [], isComplete: false)
    do throws(ElfError) {
      let file = try ElfFile(path: image.path)
      let found = file.buildID()
      guard found == image.buildID else {
        // The debug file of the build that ran names its functions even when the program was built anew since.
        let other = Self.debugTable(image: image, file: nil, debugRoot: debugRoot)
        self.init(table: other ?? nothing, problem: other == nil ? .otherBuild(ran: image.buildID, found: found) : nil)
        return
      }
      let own = file.symbols()
      if own.isComplete {
        self.init(table: own, problem: nil)
      } else if let separate = Self.debugTable(image: image, file: file, debugRoot: debugRoot) {
        self.init(table: separate, problem: nil)
      } else {
        self.init(table: own, problem: .stripped(found))
      }
    } catch {
      switch error {
      case .cannotOpen(let reason): self.init(table: nothing, problem: .missingFile(reason))
      case .notElf: self.init(table: nothing, problem: .notElf)
      }
    }
  }

  private init(table: SymbolTable, problem: SymbolProblem?) {
    self.table = table
    self.problem = problem
  }

  /// A full table from `.build-id/xx/yyy.debug` or the file that the debug link names; nil when none is of this build.
  private static func debugTable(image: CodeImage, file: ElfFile?, debugRoot: String) -> SymbolTable? {
    var candidates: [String] = []
    let id = image.buildID.description
    if id.utf8.count > 2 { candidates.append("\(debugRoot)/.build-id/\(id.prefix(2))/\(id.dropFirst(2)).debug") }
    if let link = file?.debugLink() {
      let folder = String(image.path.dropLast(image.fileName.count))
      candidates += ["\(folder)\(link)", "\(folder).debug/\(link)", "\(debugRoot)\(folder)\(link)"]
    }
    for path in candidates where path != image.path {
      guard let debug = try? ElfFile(path: path), debug.buildID() == image.buildID else { continue }
      let table = debug.symbols()
      if table.isComplete { return table }
    }
    return nil
  }
}
