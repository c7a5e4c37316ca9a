// Tells the program's own code from the runtime's and the system's, by image and, for static builds, by name.
extension FrameOrigin {
  /// Libraries of the Swift toolchain, by file name.
  private static let runtimeLibraries = [
    "libswift", "libFoundation", "lib_Foundation", "libdispatch", "libBlocksRuntime", "libTesting", "libXCTest",
    "lib_Testing", "lib_Internal", "liblifespan", "libLifespan",
  ]

  /// Modules of the Swift toolchain, for code of theirs that is linked or specialised into a program.
  private static let runtimeModules: Set<String> = [
    "Swift", "_Concurrency", "_StringProcessing", "_RegexParser", "RegexBuilder", "Synchronization", "Observation",
    "Distributed", "Foundation", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking",
    "FoundationXML", "_FoundationCollections", "Dispatch", "Glibc", "SwiftGlibc", "Lifespan",
  ]

  private static let allocators: Set<String> = [
    "malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",
    "mallocx", "rallocx", "reallocarray", "strdup", "strndup", "cfree",
  ]

  /// Where a function comes from. `mangled` is nil when it is not named.
  static func of(image: CodeImage, mangled: String?) -> FrameOrigin {
    let file = image.fileName
    if runtimeLibraries.contains(where: { file.hasPrefix($0) }) { return .runtime }
    let systemFolders = ["/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "["]
    if systemFolders.contains(where: { image.path.hasPrefix($0) }), file.contains(".so") || file.hasPrefix("[") {
      return .system
    }
    guard let mangled else { return .program }
    if ["swift_", "_swift_", "__swift_", "lifespan_"].contains(where: { mangled.hasPrefix($0) }) { return .runtime }
    if ["_ZN5swift", "_ZNK5swift", "_ZL", "je_", "tc_", "mi_"].contains(where: { mangled.hasPrefix($0) }) {
      return mangled.hasPrefix("_ZL") ? (mangled.contains("5swift") ? .runtime : .program) : .runtime
    }
    if mangled.hasPrefix("_Znw") || mangled.hasPrefix("_Zna") { return .system }
    if allocators.contains(mangled) { return .system }
    if let module = Demangler.swiftModule(mangled), runtimeModules.contains(module) { return .runtime }
    return .program
  }
}
