// The stack tree of a trace. Filled by Trace from STACKS chunks, asked by the reports for what they show.

/// The stacks of a trace, as a tree of frames.
public struct StackTable: Sendable {
  /// A whole stack.
  public struct Stack: Sendable, Hashable {
    /// Its frames, innermost first. Empty for `StackID.none`, `.tableFull` and a node that the file does not hold.
    public var frames: [StackNode]
    /// Why it ends where it ends.
    public var end: StackEnd
  }

  /// More frames than any recorder keeps (`--depth` takes 1,024 at most): what a damaged tree may hold in one stack.
  public static let depthLimit = 4096
  private var nodes = SparseTable<StackNode>()

  /// Empty.
  public init() {}

  /// Number of nodes.
  public var count: Int { nodes.count }

  /// Adds a node. One with the same number is replaced.
  public mutating func add(_ node: StackNode) { nodes[node.id.rawValue] = node }

  /// One node.
  public func node(_ id: StackID) -> StackNode? { nodes[id.rawValue] }

  /// The stack from that frame to its outermost caller. A node may stand before its parent in the file, so a cut file
  /// may lack parents: the stack then ends with `cut`, as it does where a parent's number is not the smaller one, which
  /// is a damaged tree that may run in a circle.
  public func stack(_ id: StackID) -> Stack {
    var frames: [StackNode] = []
    var next = id
    var end = StackEnd.whole
    while next.isNode {
      guard frames.count < StackTable.depthLimit, let node = nodes[next.rawValue] else {
        end = .cut
        break
      }
      frames.append(node)
      guard node.parent.rawValue < node.id.rawValue else {
        end = .cut
        break
      }
      end = node.end
      next = node.parent
    }
    return Stack(frames: frames, end: end)
  }
}
