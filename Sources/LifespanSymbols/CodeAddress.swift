// An address of code as LifespanSymbols is asked about it: which file, which build of it, where in it.

/// What identifies an image's build. Empty where the linker wrote none.
public struct BuildID: Hashable, Sendable, CustomStringConvertible {
  /// The bytes of the note.
  public let bytes: [UInt8]

  /// A build-id of these bytes.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Whether the image carries none.
  public var isEmpty: Bool { bytes.isEmpty }

  /// Lower-case hexadecimal digits.
  public var description: String {
    bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
  }
}

/// A file of code and the build of it that ran.
public struct CodeImage: Hashable, Sendable {
  /// Path as the dynamic linker knew it.
  public let path: String
  /// Its build as recorded.
  public let buildID: BuildID

  /// An image at `path`.
  public init(path: String, buildID: BuildID = BuildID([])) {
    self.path = path
    self.buildID = buildID
  }

  /// By its build alone, where it has one: paths are long, and every frame of every stack is looked up.
  public func hash(into hasher: inout Hasher) {
    guard buildID.bytes.count >= 8 else { return hasher.combine(path) }
    hasher.combine(buildID.bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) })
  }

  /// Last part of the path.
  public var fileName: String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// The base name without `lib` and `.so`: `libFoundation.so` is `Foundation`, `libc.so.6` is `c`.
  public var moduleName: String {
    var name = fileName[...]
    guard let suffix = name.firstRange(of: ".so"), suffix.upperBound == name.endIndex || name[suffix.upperBound] == "."
    else { return String(name) }
    name = name[..<suffix.lowerBound]
    if name.hasPrefix("lib"), name.count > 3 { name = name.dropFirst(3) }
    return String(name)
  }

  /// Whether blocks of malloc that code of this image allocates are counted for it; else for whoever called it.
  public var mayOwnBlocks: Bool { FrameOrigin.mayOwnBlocks(self) }
}

/// An address inside an image, knowing whether it is where a call returns to or where a function begins.
/// The "minus one" that a return address needs to be named is applied here. (`ReturnAddress` of LifespanTrace has its own,
/// to find the image.)
public enum CodeAddress: Hashable, Sendable {
  /// Behind a call: the function is the one of the byte before.
  case returnAddress(UInt64)
  /// The instruction itself.
  case instruction(UInt64)

  /// The address within the image's file (what the ELF tables call it).
  public var value: UInt64 {
    switch self {
    case .returnAddress(let value), .instruction(let value): return value
    }
  }

  /// The address to look up.
  var lookup: UInt64 {
    switch self {
    case .returnAddress(let value): return value == 0 ? 0 : value - 1
    case .instruction(let value): return value
    }
  }
}

/// One frame before it is named.
public struct CodeLocation: Hashable, Sendable {
  /// The image it lies in; nil when no image was loaded there.
  public let image: CodeImage?
  /// The address within the image's file; the address in memory when `image` is nil.
  public let address: CodeAddress

  /// A location.
  public init(image: CodeImage?, address: CodeAddress) {
    self.image = image
    self.address = address
  }
}
