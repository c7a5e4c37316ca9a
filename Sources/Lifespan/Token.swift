// Tokens: values that have no address of their own are counted by one. Made by the program.

#if Recording
internal import CLinkedDoor

extension Allocations {
  /// Counts values that are no objects: structs, enums, noncopyable values. Put one into the value; it is counted by
  /// the token's name for as long as any copy of the value lives.
  ///
  /// ```swift
  /// struct Upload: ~Copyable {
  ///   let token = Allocations.Token("Upload")
  /// }
  /// try Allocations.liveCount(ofToken: "Upload")
  /// ```
  ///
  /// Tokens made before the start are not counted.
  ///
  /// Cost: one small object for each value, and while recording two ring records.
  public final class Token: Sendable {
    /// The name by which its values are counted.
    public let name: String
    private let number: UInt64

    /// Counts one value more.
    ///
    /// - Parameters:
    ///   - name: of the row in reports.
    ///   - bytes: what one value is to count for; 0 where only the number matters.
    public init(_ name: String, bytes: Int = 0) {
      self.name = name
      var text = name
      number = text.withUTF8 { utf8 in
        utf8.withMemoryRebound(to: CChar.self) {
          lifespan_linked_token_born($0.baseAddress, $0.count, UInt64(clamping: bytes))
        }
      }
    }

    deinit { lifespan_linked_token_died(number) }
  }
}
#endif
