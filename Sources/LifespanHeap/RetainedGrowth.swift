// What objects of some types retain in each picture of a trace: a cache that grows says so here though its own count stands still.
import LifespanTrace

/// What the objects that a question is about retain in one picture.
public struct RetainedAt: Sendable, Hashable {
  /// The picture.
  public var head: HeapGraph.Head
  /// How many such objects there are.
  public var count: Int
  /// Their bytes.
  public var bytes: UInt64
  /// Bytes that would go with them, their own with them.
  public var retainedBytes: UInt64
}

extension Heap {
  /// What they retain in this picture; nothing where none of them is in it.
  public func retainedAt(_ selector: HeapSelector) -> RetainedAt {
    let holders = try? holders(of: selector, limit: 1)
    return RetainedAt(
      head: graph.head, count: holders?.count ?? 0, bytes: holders?.bytes ?? 0,
      retainedBytes: holders?.retainedBytes ?? 0)
  }
}
