// An address in a backtrace. Knows that it lies behind its call.

extension Allocations {
  /// The address at which a function goes on after a call: one frame of a backtrace.
  public struct ReturnAddress: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// A function, as far as the process itself knows its symbols.
    public struct Symbol: Sendable, Hashable, CustomStringConvertible {
      /// The function, demangled; nil where the image has no dynamic symbol for it. The command line finds more: it
      /// reads the full symbol tables of the saved trace's images.
      public let function: String?
      /// The path of the image, or what the loader calls it.
      public let image: String
      /// Bytes from the function's start; from the image's where there is no function.
      public let offset: UInt64

      /// `function + offset [image]`.
      public var description: String {
        let file = image.split(separator: "/").last.map(String.init) ?? image
        return function.map { "\($0) + \(offset) [\(file)]" } ?? "0x\(String(offset, radix: 16)) [\(file)]"
      }
    }

    /// The address.
    public let rawValue: UInt64

    /// A return address by its number.
    public init(rawValue: UInt64) {
      self.rawValue = rawValue
    }

    /// In hexadecimal.
    public var description: String { "0x" + String(rawValue, radix: 16) }
  }
}

#if Recording
internal import CLinkedDoor

extension Allocations.ReturnAddress {
  /// Looks the call up in the loaded images' dynamic symbols (`dladdr`); nil where it lies in none of them.
  ///
  /// Cost: some microseconds, and memory for the name. A program built with `-Xlinker --export-dynamic` has symbols
  /// for its own functions.
  public func symbol() -> Symbol? {
    withUnsafeTemporaryAllocation(of: lifespan_linked_name.self, capacity: 1) { buffer in
      guard let name = buffer.baseAddress, lifespan_linked_name(rawValue, name) else { return nil }
      func text<Characters>(_ path: KeyPath<lifespan_linked_name, Characters>) -> String {
        withUnsafeBytes(of: name.pointee[keyPath: path]) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      }
      let function = text(\.function)
      return Symbol(function: function.isEmpty ? nil : function, image: text(\.image), offset: name.pointee.offset)
    }
  }
}
#endif
