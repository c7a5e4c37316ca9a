// Retains and releases an object below a number of frames and says what a pair took: `references KIND FRAMES PAIRS`. KIND: recorded or
// ignored, an object of references.Recorded or references.Ignored.
import Glibc

final class Recorded { var number = 1 }
final class Ignored { var number = 1 }

/// Called by address, so that no optimiser pairs them off.
typealias Count = @convention(c) (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer
func function(_ name: String) -> Count {
  guard let entry = dlsym(nil, name) else { fatalError("no \(name)") }
  return unsafeBitCast(entry, to: Count.self)
}
let retain = function("swift_retain")
let release = function("swift_release")

@inline(never) func run(_ object: UnsafeMutableRawPointer, _ pairs: Int) {
  let retain = retain, release = release
  for _ in 0..<pairs {
    _ = retain(object)
    _ = release(object)
  }
}

/// One frame a level, none of which the compiler may fold.
nonisolated(unsafe) var turns = 0
@inline(never) @_optimize(none) func below(_ frames: Int, _ work: () -> Void) {
  if frames <= 0 { work() } else { below(frames - 1, work) }
  turns &+= 1
}

func nanoseconds() -> Int {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return now.tv_sec * 1_000_000_000 + now.tv_nsec
}

let words = CommandLine.arguments
guard words.count == 4, let frames = Int(words[2]), let pairs = Int(words[3]) else {
  fputs("references recorded|ignored FRAMES PAIRS\n", stderr)
  exit(64)
}
// At the same places of the heap, whichever is used.
let recorded = Unmanaged.passRetained(Recorded()).toOpaque()
let ignored = Unmanaged.passRetained(Ignored()).toOpaque()
let object = words[1] == "recorded" ? recorded : ignored
final class Work {
  let body: () -> Void
  init(_ body: @escaping () -> Void) { self.body = body }
}

let work = Work {
  below(frames) {
    // As much as a ring holds, and time to drain it: its memory is there, and has room.
    run(object, 40_000)
    usleep(200_000)
    let start = nanoseconds()
    run(object, pairs)
    fputs("TOOK \(Double(nanoseconds() - start) / Double(pairs)) ns a pair\n", stderr)
  }
}

// On a thread: valgrind's main thread has a stack of its own kind, which is not walked.
var thread = pthread_t()
pthread_create(
  &thread, nil,
  {
    if let work = $0 { Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body() }
    return nil
  }, Unmanaged.passRetained(work).toOpaque())
pthread_join(thread, nil)
