// A table by small numbers that come out of a file: dense where they are dense, bounded where they are not.
// Used by StackTable and TypeCatalog.

/// Elements by number. The recorder hands numbers out one after another, so an array serves; a number far above the
/// amount of elements (a damaged file) goes into a dictionary instead of making the array huge.
public struct SparseTable<Element: Sendable>: Sendable {
  private var dense: [Element?] = []
  private var far: [UInt32: Element] = [:]
  /// Elements in it.
  public private(set) var count = 0

  /// Empty.
  public init() {}

  /// The element of that number.
  public subscript(number: UInt32) -> Element? {
    get {
      if Int(number) < dense.count, let element = dense[Int(number)] { return element }
      return far.isEmpty ? nil : far[number]
    }
    set {
      let isNew = self[number] == nil
      if isNew != (newValue == nil) { count += isNew ? 1 : -1 }
      let index = Int(number)
      guard index < 4096 + 4 * count else {
        far[number] = newValue
        return
      }
      far[number] = nil
      while dense.count <= index { dense.append(nil) }
      dense[index] = newValue
    }
  }

  /// All elements, by number where they are dense.
  public var elements: [Element] { dense.compactMap { $0 } + far.sorted { $0.key < $1.key }.map(\.value) }
}
