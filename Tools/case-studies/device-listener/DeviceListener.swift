// A listener starts a thread with a run loop, waits there for a device's value, reports it, and is done. Whether thread and listener go
// then depends on how the run loop ends.
//
// Variants, by the way in which the thread runs its loop:
//   run               RunLoop.run(): never returns while there is a source
//   stop-run          the same, and CFRunLoopStop: run() just runs it again
//   flag              run(mode:before:) while a flag says so, and the flag is set: nobody wakes the loop to look at it
//   other-mode        the source is in a mode that is never run: the loop ends at once, and no value ever comes
//   other-mode-timer  a timer that keeps the listener is in a mode that is never run: it never fires, and stays in the
//                     loop, which the listener keeps
//   time-out          run(until:) a moment that is over: the loop ends before the value comes
//   perform-late      a block is performed on a loop that has ended: it never runs, and keeps what it captured
//   singleton         run() once in the whole program, by a manager that is never asked again
//   run-until, flag-stop, stop, last-source, perform-in-time: the mended ones
import CoreFoundation
import Foundation

/// What the device has measured.
final class Report: @unchecked Sendable {
  let value: Int
  init(value: Int) { self.value = value }
}

/// Waits for one value on a thread of its own.
final class Listener: @unchecked Sendable {
  nonisolated(unsafe) static var living = 0
  private static let lock = NSLock()
  private static let otherMode = CFStringCreateWithCString(nil, "device", CFStringBuiltInEncodings.UTF8.rawValue)
  private let way: String
  private let ready = DispatchSemaphore(value: 0)
  private let reported = DispatchSemaphore(value: 0)
  private let ended = DispatchSemaphore(value: 0)
  private var loop: CFRunLoop?
  private var runLoop: RunLoop?
  private var source: CFRunLoopSource?
  private var isDone = false
  private var last: Report?

  init(_ way: String) {
    self.way = way
    Listener.lock.withLock { Listener.living += 1 }
  }

  deinit { Listener.lock.withLock { Listener.living -= 1 } }

  /// Starts the thread, and comes back when it is about to run its loop.
  func start() {
    Thread { self.listen() }.start()
    ready.wait()
  }

  private func listen() {
    nameThread("listener")
    loop = CFRunLoopGetCurrent()
    runLoop = RunLoop.current
    // What the device's driver would signal.
    var context = CFRunLoopSourceContext()
    source = CFRunLoopSourceCreate(nil, 0, &context)
    if way == "other-mode-timer" {
      let timer = Timer(timeInterval: 0, repeats: false) { _ in self.isDone = true }
      RunLoop.current.add(timer, forMode: RunLoop.Mode("device"))
    } else {
      CFRunLoopAddSource(loop, source, way == "other-mode" ? Self.otherMode : kCFRunLoopDefaultMode)
    }
    if ["time-out", "perform-late", "other-mode", "other-mode-timer"].contains(way) {
      ready.signal()
    } else {
      // The loop itself says that it runs.
      RunLoop.current.perform { self.ready.signal() }
    }
    switch way {
    case "run-until":
      while !isDone { RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.002)) }
    case "flag", "flag-stop":
      while !isDone, RunLoop.current.run(mode: .default, before: .distantFuture) {}
    case "stop", "perform-in-time":
      CFRunLoopRun()
    case "time-out", "perform-late":
      RunLoop.current.run(until: Date())
    default:
      RunLoop.current.run()
    }
    ended.signal()
  }

  /// The device has a value. Where the loop has ended nobody takes it.
  func deliver(_ report: Report) {
    guard let loop, let runLoop else { return }
    if ["time-out", "other-mode", "other-mode-timer"].contains(way) {
      ended.wait()
      return
    }
    if way == "perform-late" { ended.wait() }
    runLoop.perform {
      self.last = report
      self.reported.signal()
    }
    CFRunLoopWakeUp(loop)
    if way != "perform-late" { reported.wait() }
  }

  /// Nobody needs it any more.
  func finish() {
    guard let loop else { return }
    switch way {
    case "run-until":
      runLoop?.perform { self.isDone = true }
      CFRunLoopWakeUp(loop)
      ended.wait()
    case "flag":
      isDone = true
    case "flag-stop":
      isDone = true
      CFRunLoopStop(loop)
      ended.wait()
    case "stop", "perform-in-time":
      CFRunLoopStop(loop)
      ended.wait()
    case "stop-run":
      CFRunLoopStop(loop)
    case "last-source":
      CFRunLoopRemoveSource(loop, source, kCFRunLoopDefaultMode)
      CFRunLoopWakeUp(loop)
      ended.wait()
    default: break
    }
  }
}

/// Started once, asked once.
final class Manager: @unchecked Sendable {
  static let shared = Manager()
  private var listener: Listener?
  func measure() -> Bool {
    if listener != nil { return false }
    let listener = Listener("run")
    self.listener = listener
    listener.start()
    listener.deliver(Report(value: 1))
    return true
  }
}

/// Run loops that somebody has kept, though their threads are gone.
nonisolated(unsafe) var keptLoops: [RunLoop] = []

extension Listener {
  /// What the manager of the faulty `perform-late` does to reach its listener again.
  func keepLoop() { if let runLoop { keptLoops.append(runLoop) } }
}

/// Names the thread that calls. Thread.name of Foundation on Linux does so only by chance: it needs the pthread, which the thread that
/// calls start() notes down after the new one has begun. Glibc's own call is hidden from Swift.
func nameThread(_ name: String) {
  typealias SetName = @convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32
  guard let address = dlsym(nil, "pthread_setname_np") else { return }
  _ = unsafeBitCast(address, to: SetName.self)(pthread_self(), name)
}

/// The listeners' threads that the kernel still has. (Dispatch may have threads of its own: it times run loops.)
func threads() -> Int {
  let tasks = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")) ?? []
  let names = tasks.map { try? String(contentsOfFile: "/proc/self/task/\($0)/comm", encoding: .utf8) }
  return names.filter { $0 == "listener\n" }.count
}

@inline(never) func listen(_ round: Int) {
  let listener = Listener(variant)
  listener.start()
  if variant == "perform-late" { listener.keepLoop() }
  listener.deliver(Report(value: round))
  listener.finish()
}

@main struct Main {
  static func main() {
    let faulty = ["run", "stop-run", "flag", "perform-late", "other-mode-timer"]
    let endingAlone = ["run-until", "flag-stop", "stop", "last-source", "perform-in-time", "other-mode", "time-out"]
    switch variant {
    case "singleton":
      rounds { round in if round == 2 { _ = Manager.shared.measure() } }
    case _ where faulty.contains(variant) || endingAlone.contains(variant):
      rounds { round in
        listen(round)
        // Threads that end are gone before the mark.
        if endingAlone.contains(variant) { wait { Listener.living == 0 } }
        if !["run", "stop-run", "flag"].contains(variant) { wait { threads() == 0 } }
      }
    default: unknownVariant("singleton", faulty.joined(separator: "|"), endingAlone.joined(separator: "|"))
    }
    print("\(Listener.living) listeners, \(threads()) threads")
    fflush(stdout)
    exit(0)
  }
}
