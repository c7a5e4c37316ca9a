// A library that late.c loads while it runs.

/// Counted by the behaviour.
public final class Late {
  var next: Late?
  init(_ next: Late?) { self.next = next }
}
nonisolated(unsafe) private var kept: [Late] = []

/// Makes objects and keeps every second one.
@_cdecl("make_nodes")
public func make(_ count: Int32) -> Int32 {
  for number in 0..<count {
    let node = Late(nil)
    if number % 2 == 0 { kept.append(node) }
  }
  return Int32(kept.count)
}
