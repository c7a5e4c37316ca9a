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

  /// Whether a module is one of the Swift toolchain's.
  public static func isToolchain(module: String) -> Bool { runtimeModules.contains(module) || module == "__C" }

  private static let allocators: Set<String> = [
    "malloc", "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",
    "mallocx", "rallocx", "reallocarray", "strdup", "strndup", "cfree",
  ]

  /// Libraries whose allocations are made for somebody else: C, C++, the dynamic linker, the Swift runtime, allocators.
  private static let servants = [
    "libc.so", "libc-", "ld-linux", "libstdc++", "libgcc_s", "libm.so", "libpthread", "libdl.so", "librt.so",
    "libswiftCore", "liblifespan", "libjemalloc", "libtcmalloc", "libmimalloc", "libasan", "libtsan", "[vdso]",
  ]

  /// Whether blocks of malloc are counted for an image, rather than for whoever called it.
  static func mayOwnBlocks(_ image: CodeImage) -> Bool {
    let file = image.fileName
    return !servants.contains { file.hasPrefix($0) }
  }

  /// Whether a function hands out memory for its caller, by its mangled name.
  static func isAllocator(mangled: String) -> Bool {
    let prefixes = ["_Znw", "_Zna", "swift_slowAlloc", "je_", "tc_", "mi_"]
    return allocators.contains(mangled) || prefixes.contains { mangled.hasPrefix($0) }
  }

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
