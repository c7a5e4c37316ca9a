// What is known of ways in which programs keep what they do not need any more: by the path that holds an object. Said as likely, never as certain.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// Advice for a path.
enum KnownPatterns {
  private struct Pattern {
    /// Parts of the path's lines, one of which must be there.
    let signs: [String]
    let advice: String
  }

  /// The first that fits is told: what is nearest to the cause comes first.
  private static let patterns: [Pattern] = [
    Pattern(
      signs: ["URLSession"],
      advice: "a URLSession keeps its delegate until it is invalidated: finishTasksAndInvalidate() or "
        + "invalidateAndCancel()"),
    Pattern(
      signs: ["CFRunLoopTimer", "Foundation.Timer"],
      advice: "a run loop keeps its timers, and a timer its block: invalidate() it, or capture weakly; on Linux "
        + "Foundation's Timer is never released, so what its block captures strongly lives on even then"),
    Pattern(
      signs: ["timer of a source", "dispatch_source", "DispatchSource"],
      advice: "a dispatch source keeps its handlers until it is cancelled: cancel() it"),
    Pattern(
      signs: ["NotificationCenter"],
      advice: "a notification centre keeps its observers' blocks: removeObserver with the token, or capture weakly"),
    Pattern(
      signs: ["AsyncStream", "AsyncThrowingStream", "CheckedContinuation", "task's stack", "task "],
      advice: "a task waits for what does not come: finish() the stream, resume the continuation, or cancel the task"),
    Pattern(
      signs: ["OperationQueue"],
      advice: "an operation queue keeps operations that were not started or have not ended: cancel or finish them"),
    Pattern(
      signs: ["CFRunLoopRun", "RunLoop.run", "__CFRunLoop"],
      advice: "a thread waits in a run loop and keeps what its functions hold: stop the loop when its work is done"),
    Pattern(
      signs: ["pthread_cond", "semaphore"],
      advice: "a thread waits, perhaps for ever, and keeps what its functions hold"),
  ]

  /// Of the lines of a path from a root; `grows`: whether there are more of the type in every round.
  static func advice(path: [String], grows: Bool) -> String? {
    for pattern in patterns where path.contains(where: { line in pattern.signs.contains { line.contains($0) } }) {
      return pattern.advice
    }
    let collections = ["_DictionaryStorage<", "_SetStorage<", "_ContiguousArrayStorage<"]
    let isStored = path.contains { line in collections.contains { line.contains($0) } }
    guard isStored, let root = path.first, root.hasPrefix("global") else { return nil }
    return grows
      ? "a collection below a global only grows: give it a limit, or take out what is done"
      : "a collection below a global holds it: take it out when it is done"
  }

  /// Of objects that no root reaches, by what their cycle is made of; empty where it has none.
  static func advice(cycle: [(kind: ObjectKind, property: String)]) -> String {
    guard !cycle.isEmpty else { return ofLeaks }
    // What captures one object alone has no context of its own: the property's function tells it.
    return cycle.contains { $0.kind == .closure || $0.property.contains("closure #") }
      ? "a closure captures its owner, which keeps it: capture weakly ([weak self]), or set it to nil when it is done"
      : "the objects hold each other in a cycle: make one of its properties weak, or set it to nil when it is done"
  }

  /// Of objects that no root reaches.
  static let ofLeaks =
    "nothing that lives refers to it: it is lost, mostly in a cycle; `lifespan leaks` names the property of each step"
}
