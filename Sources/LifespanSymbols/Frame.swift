// One line of a backtrace, named. Made by Symbolizer; printed by LifespanReport.

/// Where a function comes from, which decides whether a reader wants to see it as the one that allocated.
public enum FrameOrigin: String, Sendable, Codable {
  /// The program's own code or a library it brought.
  case program
  /// The Swift runtime, its standard library and Foundation, wherever they are linked.
  case runtime
  /// The C library, the C++ library and whatever else lies in the system's folders.
  case system
}

/// A named frame. File and line are nil where line tables do not say.
public struct Frame: Hashable, Sendable {
  /// Demangled and shortened (`Node.init(value:)`); `MyLib + 0x123` where the image names no function there.
  public let function: String
  /// Bytes from the function's start; nil where no function is known (the offset is then in `function`).
  public let offset: UInt64?
  /// The image's base name without `lib` and `.so`; `?` where the address lies in no image.
  public let module: String
  /// Source file, where line tables say so.
  public let file: String?
  /// Line in `file`, from 1.
  public let line: Int?
  /// Whether the function was inlined into the next frame.
  public let inlined: Bool
  /// Whose code it is.
  public let origin: FrameOrigin
  /// Whether it hands out memory for its caller: `malloc`, `operator new`.
  public let isAllocator: Bool

  /// A frame of the given parts.
  public init(
    function: String, offset: UInt64? = nil, module: String, file: String? = nil, line: Int? = nil,
    inlined: Bool = false, origin: FrameOrigin = .program, isAllocator: Bool = false
  ) {
    self.function = function
    self.offset = offset
    self.module = module
    self.file = file
    self.line = line
    self.inlined = inlined
    self.origin = origin
    self.isAllocator = isAllocator
  }

  /// Whether somebody wrote it who wrote the program: neither the toolchain nor the compiler, which puts thunks between functions
  /// and what calls them.
  public var isOwn: Bool { origin == .program && !Self.isThunk(function) }

  static func isThunk(_ function: String) -> Bool {
    ["partial apply for ", "thunk for ", "specialized thunk for "].contains { function.hasPrefix($0) }
      || function == "async_Main"
  }
}

extension Frame: CustomStringConvertible {
  /// `Node.init(value:) + 24 [MyApp]`; with line tables `Node.init(value:) Node.swift:12 [MyApp]`.
  public var description: String {
    if let file, let line { return "\(function) \(file.split(separator: "/").last ?? ""):\(line) [\(module)]" }
    guard let offset else { return "\(function) [\(module)]" }
    return "\(function) + \(offset) [\(module)]"
  }
}
