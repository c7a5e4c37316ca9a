// Where the heap cannot be looked at: the call says why, and the program goes on. Used by Heap.swift and main.swift.
import Glibc
import Lifespan

func refusal() -> String {
  do {
    _ = try Allocations.leaks()
    return "an answer"
  } catch {
    return error.description
  }
}

func checkRefusals() {
  // Its own handler stays, and is called.
  signal(SIGPROF) { _ in }
  equal(refusal().contains("itself uses SIGPROF"), true, "a handler of the program's: \(refusal())")
  signal(SIGPROF, SIG_DFL)
  equal(refusal(), "an answer", "after that")
  var thread = pthread_t()
  // Bytes from there to here, and from here to there.
  let ends = UnsafeMutablePointer<Int32>.allocate(capacity: 4)
  pipe(ends)
  pipe(ends + 2)
  pthread_create(
    &thread, nil,
    { argument in
      var all = sigset_t()
      sigfillset(&all)
      pthread_sigmask(SIG_BLOCK, &all, nil)
      var byte: UInt8 = 0
      if let ends = argument?.assumingMemoryBound(to: Int32.self) {
        write(ends[1], [1], 1)
        read(ends[2], &byte, 1)
      }
      pthread_sigmask(SIG_UNBLOCK, &all, nil)  // a signal that was left for it would end the program here
      return nil
    }, ends)
  var byte: UInt8 = 0
  read(ends[0], &byte, 1)
  equal(refusal().contains("blocks SIGPROF"), true, "a thread that blocks it: \(refusal())")
  write(ends[3], [1], 1)
  pthread_join(thread, nil)
  equal(refusal(), "an answer", "after that")
  let child = fork()
  if child == 0 { _exit(refusal().contains("forked") ? 0 : 1) }
  var status: Int32 = 0
  waitpid(child, &status, 0)
  equal(status, 0, "a forked child")
  equal(waitpid(-1, &status, WNOHANG), -1, "a child is left")
}

private final class Still: Sendable {}

/// The surroundings forbid a look: `LINKED_REFUSED` says what the reason holds. (No argument: where there is no /proc a program sees none.) `LINKED_FILTER`: a
/// library whose load puts a filter of system calls on this program.
func checkRefused(because text: String) {
  do {
    try Allocations.start(recording: .swiftObjects)
  } catch {
    equal("\(error)", "started", "start")
  }
  if let filter = getenv("LINKED_FILTER") { equal(dlopen(filter, RTLD_NOW) == nil, false, "the filter") }
  let objects = (0..<10).map { _ in Still() }
  for turn in 1...2 {
    let reason = refusal()
    equal(reason.contains(text), true, "turn \(turn): \(reason)")
  }
  equalCount(Still.self, objects.count, "after it was refused")
  equal(waitpid(-1, nil, WNOHANG), -1, "a child is left")
  equal(errno, ECHILD, "a child is left")
  withExtendedLifetime(objects) { finish() }
}
