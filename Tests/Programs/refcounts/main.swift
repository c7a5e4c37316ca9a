// Does what changes reference counts in every way that the language has, keeps some of what it made, and rests a moment after each kind, so
// that whoever compares counts finds many kinds of them. Arguments: kinds (values, threads, tasks, foundation).

import Foundation

/// What is kept to the end: with counts above one, in every kind of container.
nonisolated(unsafe) var kept: [Any] = []
let keptLock = NSLock()

func keep(_ thing: Any) {
  keptLock.lock()
  kept.append(thing)
  keptLock.unlock()
}

typealias Marking = @convention(c) (UnsafePointer<CChar>?) -> Void
let mark = dlsym(nil, "lifespan_mark_generation").map { unsafeBitCast($0, to: Marking.self) }

/// A moment at which counts are compared: a mark, in a program that is checked.
func rest() { mark?("rest") }

final class Forged { var number = 1 }

/// Three references more in its header (Swift 5 to 6.3: from bit 33 on) that nobody has retained.
func forged() {
  let object = Forged()
  let header = Unmanaged.passUnretained(object).toOpaque().assumingMemoryBound(to: UInt64.self)
  header[1] += 3 << 33
  kept.append(Unmanaged.passRetained(object).toOpaque())
  usleep(50_000)
}

func killed() {
  keep(Forged())
  rest()
  kill(getpid(), SIGKILL)
}

let kinds: [String: () -> Void] = [
  "forged": forged, "killed": killed, "missing": missing, "held": held, "escapes": escapes, "busy": busy,
  "double": double, "freed": freed,
  "dangling": dangling,
  "values": values, "threads": threads, "tasks": tasks, "foundation": foundation,
]
for word in CommandLine.arguments.dropFirst() {
  guard let kind = kinds[word] else { fatalError("no kind \(word)") }
  kind()
  rest()
}
print("done, \(kept.count) kept")
