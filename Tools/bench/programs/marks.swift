// Keeps objects alive and marks generations: `marks LIVING MARKS [wait]`. Says what a mark took;
// wait: and ends when its input ends, to be marked from outside meanwhile.
import Glibc

final class Node {
  let next: Node?
  init(_ next: Node?) { self.next = next }
}

typealias Mark = @convention(c) (UnsafePointer<CChar>?) -> Void

@main enum Program {
  static func main() {
    let words = CommandLine.arguments
    guard words.count >= 3, let living = Int(words[1]), let marks = Int(words[2]) else {
      fputs("marks LIVING MARKS [wait]\n", stderr)
      exit(64)
    }
    var kept: Node?
    for _ in 0..<living { kept = Node(kept) }
    // Not there in a run that is not recorded: then the loop alone is measured.
    let mark = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "lifespan_mark_generation").map {
      unsafeBitCast($0, to: Mark.self)
    }
    let begin = now()
    for _ in 0..<marks { mark?(nil) }
    let whole = now() - begin
    fputs("TOOK \(Double(whole) / Double(max(1, marks))) ns a mark\n", stderr)
    if words.count > 3 {
      while getchar() != EOF {}
    }
    // What lives ends with the process: no list of ten million is taken apart.
    withExtendedLifetime(kept) { _exit(0) }
  }

  static func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }
}
