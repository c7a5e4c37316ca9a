// Where a reader says that the files lie that ran, and their debug files. Given to Symbolizer, asked by ImageSymbols.

/// Folders in which files are looked for before the places where they ran. What is found there counts only where its build-id is
/// that of what ran.
public struct SymbolPlaces: Sendable, Hashable {
  /// Folders that hold files by their whole paths (a container's image) or by name, and debug files as `debugPaths` do.
  public var folders: [String]
  /// Roots of a file system: files by their whole paths alone, debug files in its `usr/lib/debug`.
  public var sysroots: [String]
  /// Folders of debug files, as `/usr/lib/debug` is one: `.build-id/xx/yyy.debug`, or the name in a file's debug link, below the
  /// folder in which it ran or directly.
  public var debugPaths: [String]

  /// Where separate debug files lie, as gdb has it.
  public static let systemDebugPath = "/usr/lib/debug"

  /// None, unless said otherwise.
  public init(folders: [String] = [], sysroots: [String] = [], debugPaths: [String] = []) {
    self.folders = folders
    self.sysroots = sysroots
    self.debugPaths = debugPaths
  }

  /// Where a file that ran may lie, besides where it ran.
  func places(of image: CodeImage) -> [String] {
    sysroots.map { "\($0)/\(image.path)" } + folders.flatMap { ["\($0)/\(image.path)", "\($0)/\(image.fileName)"] }
  }

  /// Folders of debug files, those of the system, `last`, behind all others.
  func debugRoots(last: String) -> [String] {
    debugPaths + folders.flatMap { [$0, $0 + last] } + sysroots.map { $0 + Self.systemDebugPath } + [last]
  }
}
