// What a picture's analysis asks of symbols: which functions allocated, and whether that is the toolchain's own affair.
import LifespanAnalysis
import LifespanHeap
import LifespanSymbols
import LifespanTrace

extension ReportNames {
  /// For the fingerprints of leaks and for telling the program's own from the toolchain's.
  public var heapNaming: HeapNaming {
    // A heap asks for the same few stacks and types a million times.
    HeapNaming(
      functions: Self.remembering { self.allocatingFunctions(of: $0) },
      isToolchains: Self.remembering { self.isToolchains($0) },
      isToolchainType: Self.remembering { Self.isToolchainType($0) }, toolchainsReason: { Self.toolchainsReason($0) })
  }

  private static func remembering<Key: Hashable, Value>(_ ask: @escaping (Key) -> Value) -> (Key) -> Value {
    var known: [Key: Value] = [:]
    return { key in
      if let value = known[key] { return value }
      let value = ask(key)
      known[key] = value
      return value
    }
  }

  /// The two innermost functions of the program's own; where there is none the innermost that has a name.
  func allocatingFunctions(of stack: StackID) -> [String] {
    let named = heapFrames(of: stack).filter { $0.offset != nil || $0.file != nil }
    let own = named.filter { $0.isOwn && !$0.function.contains("__allocating_init") }
    let chosen = own.isEmpty ? named.filter { !$0.isAllocator }.prefix(1) : own.prefix(2)
    return chosen.map { Self.unspecialized($0) }
  }

  /// The function that made a block for its own use: the innermost that no other calls to have memory.
  func maker(of stack: StackID) -> String? {
    let servants = [
      "_CFRuntimeCreateInstance", "__CFAllocatorAllocate", "CFAllocatorAllocate", "_CFAllocator", "_dispatch_calloc",
      "_dispatch_object_alloc", "_os_object_alloc", "_dispatch_continuation_alloc", "swift_", "_swift_",
    ]
    let frame = heapFrames(of: stack).first { frame in
      !frame.isAllocator && frame.module != "swiftCore" && !servants.contains { frame.function.hasPrefix($0) }
    }
    return frame.flatMap { $0.offset == nil && $0.file == nil ? nil : Self.unspecialized($0) }
  }

  /// A library of the toolchain or the system allocated, and not for the code that called it.
  func isToolchains(_ stack: StackID) -> Bool {
    guard let frame = heapFrames(of: stack).first(where: { !$0.isAllocator && !$0.mayServe }) else { return false }
    return frame.origin != .program
  }

  /// What the toolchain of Swift 6.3 is known to lose. Each of these is shown by a test (Tests/Behaviour/leaks.py), so that it goes when it is mended.
  private static let losses = [
    "Foundation.Timer":
      "Foundation's own: a Timer retains itself when it is made, and nothing releases that, invalidated or not"
  ]

  static func toolchainsReason(_ type: TypeIdentity) -> String? { losses[type.name] }

  /// A type of the toolchain's that holds none of the program's as an argument.
  static func isToolchainType(_ type: TypeIdentity) -> Bool {
    if type.kind == .closure || type.kind == .box || type.name.isEmpty {
      return FrameOrigin.isToolchain(module: type.module)
    }
    if type.kind == .malloc { return true }
    let modules = TypeModules.of(type.name)
    return !modules.isEmpty && modules.allSatisfy { FrameOrigin.isToolchain(module: $0) }
  }
}

extension Frame {
  /// What of the runtime, which is written in C++, has memory for its caller; its other functions have it for themselves.
  private static let runtimeServants = [
    "swift_alloc", "_swift_alloc", "swift_slowAlloc", "swift_bufferAllocate", "swift_coroFrameAlloc", "swift_makeBox",
    "swift_task_create",
  ]

  /// Whether it makes objects for whoever calls it: the standard library, wherever it is linked, and these of the runtime.
  fileprivate var mayServe: Bool {
    if ["swift_", "_swift_", "swift::"].contains(where: function.hasPrefix) {
      return Frame.runtimeServants.contains(where: function.hasPrefix)
    }
    let libraries = ["Foundation", "swift", "dispatch"]
    return module == "swiftCore" || (origin == .runtime && !libraries.contains { module.hasPrefix($0) })
  }
}

/// The modules that a type's name holds: `Foundation` and `App` of `Foundation.Box<App.Node>`.
enum TypeModules {
  static func of(_ name: String) -> Set<String> {
    var modules: Set<String> = []
    var word = ""
    var isFirst = true
    for character in name {
      if character.isLetter || character.isNumber || character == "_" {
        word.append(character)
        continue
      }
      if character == ".", isFirst, !word.isEmpty { modules.insert(word) }
      isFirst = character != "."
      word = ""
    }
    return modules
  }
}
