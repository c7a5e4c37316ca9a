// What holds an object: run loop and timer, notification centre, dispatch source and queue, stream, singleton, cache, thread,
// task, weak and unmanaged references, a lost one, a ring. Prints `ready`; with `stay` it waits for a line on stdin before it ends.
import Dispatch
import Foundation

final class Held {
  let name: String
  init(_ name: String) { self.name = name }
}

final class Singleton: @unchecked Sendable {
  static let shared = Singleton()
  var cache: [String: Held] = [:]
  var favourite: Held?
}

/// Made apart from the code that keeps it, so that no frame holds it by chance.
@inline(never) func make(_ name: String) -> Held { Held(name) }

final class Loop {
  final class InTimer { let held: Held; init(_ held: Held) { self.held = held } }
  final class InToken { let held: Held; init(_ held: Held) { self.held = held } }
  final class InSource { let held: Held; init(_ held: Held) { self.held = held } }
  final class InQueue { let held: Held; init(_ held: Held) { self.held = held } }
  final class InStream { let held: Held; init(_ held: Held) { self.held = held } }
  final class InThread { let held: Held; init(_ held: Held) { self.held = held } }
  final class InPerform { let held: Held; init(_ held: Held) { self.held = held } }
  final class InParkedLoop { let held: Held; init(_ held: Held) { self.held = held } }
  final class InOperation { let held: Held; init(_ held: Held) { self.held = held } }
  final class InCache { let held: Held; init(_ held: Held) { self.held = held } }
  final class InActor: @unchecked Sendable { let held: Held; init(_ held: Held) { self.held = held } }
  final class InReadSource { let held: Held; init(_ held: Held) { self.held = held } }
  final class InSerialQueue { let held: Held; init(_ held: Held) { self.held = held } }
}
/// Counted, so that the optimizer can't leave one out.
nonisolated(unsafe) var made = 0

class Counted {
  @inline(never) init() { made += 1 }
  deinit { made -= 1 }
}

final class OnlyWeak: Counted {}
final class OnlyUnmanaged: Counted {}
final class Lost: Counted {}
final class RingA: Counted { var next: RingB? }
final class RingB: Counted { var back: RingA? }

nonisolated(unsafe) var globalToken: (any NSObjectProtocol)?
nonisolated(unsafe) var globalSource: (any DispatchSourceTimer)?
nonisolated(unsafe) var globalContinuation: AsyncStream<Int>.Continuation?
nonisolated(unsafe) weak var weakly: OnlyWeak?
nonisolated(unsafe) var unmanaged: Unmanaged<OnlyUnmanaged>?

@inline(never) func singleton() {
  Singleton.shared.favourite = make("favourite")
  for number in 0..<3 { Singleton.shared.cache["key \(number)"] = make("cached \(number)") }
}

@inline(never) func timer() {
  let inside = Loop.InTimer(make("timer"))
  let timer = Timer(timeInterval: 1_000, repeats: true) { _ in _ = inside.held }
  RunLoop.main.add(timer, forMode: .default)
}

@inline(never) func notification() {
  let inside = Loop.InToken(make("token"))
  let name = Notification.Name("never")
  globalToken = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in _ = inside.held }
}

@inline(never) func source() {
  let inside = Loop.InSource(make("source"))
  let source = DispatchSource.makeTimerSource(queue: .global())
  source.schedule(deadline: .now() + 1_000)
  source.setEventHandler { _ = inside.held }
  source.resume()
  globalSource = source
}

@inline(never) func queue() {
  let inside = Loop.InQueue(make("queue"))
  DispatchQueue.global().asyncAfter(deadline: .now() + 1_000) { _ = inside.held }
}

@inline(never) func stream() {
  let inside = Loop.InStream(make("stream"))
  let started = DispatchSemaphore(value: 0)
  let stream = AsyncStream<Int> { globalContinuation = $0 }
  Task.detached {
    started.signal()
    for await value in stream { _ = (value, inside.held) }
  }
  started.wait()
}

@inline(never) func thread() {
  let inside = Loop.InThread(make("thread"))
  let parked = DispatchSemaphore(value: 0)
  let thread = Thread {
    Thread.current.threadDictionary["inside"] = inside
    parked.signal()
    while true { sleep(1_000) }
  }
  thread.name = "parked"
  thread.start()
  parked.wait()
}

@inline(never) func perform() {
  let inside = Loop.InPerform(make("perform"))
  RunLoop.main.perform { _ = inside.held }
}

/// A thread that waits in its run loop for a timer.
@inline(never) func parkedLoop() {
  let inside = Loop.InParkedLoop(make("parked loop"))
  let parked = DispatchSemaphore(value: 0)
  let thread = Thread {
    let timer = Timer(timeInterval: 1_000, repeats: true) { _ in _ = inside.held }
    RunLoop.current.add(timer, forMode: .default)
    let signal = Timer(timeInterval: 0, repeats: false) { _ in parked.signal() }
    RunLoop.current.add(signal, forMode: .default)
    RunLoop.current.run()
  }
  thread.start()
  parked.wait()
}

nonisolated(unsafe) var globalOperations: OperationQueue?
@inline(never) func operation() {
  let inside = Loop.InOperation(make("operation"))
  let queue = OperationQueue()
  queue.isSuspended = true
  queue.addOperation(BlockOperation { _ = inside.held })
  globalOperations = queue
}

nonisolated(unsafe) let globalCache = NSCache<NSString, Loop.InCache>()
@inline(never) func cache() { globalCache.setObject(Loop.InCache(make("cache")), forKey: "key") }

actor Keeper {
  static let shared = Keeper()
  private var inside: Loop.InActor?
  func keep(_ inside: Loop.InActor) { self.inside = inside }
}

@inline(never) func actor() {
  let inside = Loop.InActor(make("actor"))
  let kept = DispatchSemaphore(value: 0)
  Task.detached {
    await Keeper.shared.keep(inside)
    kept.signal()
  }
  kept.wait()
}

nonisolated(unsafe) var globalReadSource: (any DispatchSourceRead)?
@inline(never) func readSource() {
  let inside = Loop.InReadSource(make("read source"))
  var ends: [Int32] = [0, 0]
  guard pipe(&ends) == 0 else { exit(70) }
  let source = DispatchSource.makeReadSource(fileDescriptor: ends[0], queue: .main)
  source.setCancelHandler { _ = inside.held }
  source.resume()
  globalReadSource = source
}

let globalQueue = DispatchQueue(label: "program.serial")
@inline(never) func serialQueue() {
  let inside = Loop.InSerialQueue(make("serial queue"))
  globalQueue.suspend()
  globalQueue.async { _ = inside.held }
}

nonisolated(unsafe) var kept: Unmanaged<Lost>?

/// An object that is seen by nobody else may lie on the stack: this one does not.
@inline(never) func keep(_ object: Unmanaged<Lost>) { kept = object }
@inline(never) func forget() { kept = nil }

@inline(never) func references() {
  let one = OnlyWeak()
  weakly = one
  _ = Unmanaged.passRetained(one)
  let two = OnlyUnmanaged()
  unmanaged = Unmanaged.passRetained(two)
  keep(Unmanaged.passRetained(Lost()))
  forget()
  let (a, b) = (RingA(), RingB())
  a.next = b
  b.back = a
}

/// Overwrites what the calls above left on the stack.
@inline(never) func wipe() -> Int {
  withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 16) { bytes in
    for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: made >> 32) }
    return Int(bytes[made])
  }
}

@main
struct Main {
  static func main() {
    singleton()
    timer()
    notification()
    source()
    queue()
    stream()
    thread()
    perform()
    parkedLoop()
    operation()
    cache()
    actor()
    readSource()
    serialQueue()
    references()
    precondition(wipe() == 0)
    print("ready")
    fflush(stdout)
    if CommandLine.arguments.contains("stay") { _ = readLine() }
    exit(0)
  }
}
