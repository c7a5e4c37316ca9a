// What a run loop does in a turn, seen by an observer, and what it keeps from one turn to the next.
//
// Variants:
//   turn     prints the events of run loop turns in their order: timers, sources, blocks, sleep, wake, exit
//   pending  every round gives the loop a block and a source, and never turns it: it keeps what they work with
//   turned   the same, and the loop turns at the end of each round: the block has run and is gone; the source was invalidated
import CoreFoundation
import Foundation

/// What a block works with.
final class BlockWork {
  private(set) var steps = 0
  func step() { steps += 1 }
}

/// What a source's callback works with.
final class SourceWork {
  private(set) var steps = 0
  func step() { steps += 1 }
}

/// A source of version 0 that keeps what it works with: the loop keeps the source, the source its context.
@inline(never) func source(_ work: SourceWork) -> CFRunLoopSource? {
  var context = CFRunLoopSourceContext()
  context.info = Unmanaged.passRetained(work).toOpaque()
  context.perform = { info in
    guard let info else { return }
    Unmanaged<SourceWork>.fromOpaque(info).takeUnretainedValue().step()
  }
  context.cancel = { info, _, _ in
    guard let info else { return }
    Unmanaged<SourceWork>.fromOpaque(info).release()
  }
  return CFRunLoopSourceCreate(nil, 0, &context)
}

@inline(never) func give(_ turns: Bool) {
  let work = BlockWork()
  RunLoop.main.perform { work.step() }
  let source = source(SourceWork())
  CFRunLoopAddSource(CFRunLoopGetMain(), source, kCFRunLoopDefaultMode)
  guard turns else { return }
  CFRunLoopSourceSignal(source)
  CFRunLoopRunInMode(kCFRunLoopDefaultMode, 0, false)
  CFRunLoopSourceInvalidate(source)
}

/// The names of what an observer is told.
func word(_ activity: CFRunLoopActivity) -> String {
  let names: [(UInt, String)] = [
    (1, "entry"), (2, "before timers"), (4, "before sources"), (32, "before waiting"), (64, "after waiting"),
    (128, "exit"),
  ]
  return names.first { $0.0 == UInt(activity.rawValue) }?.1 ?? "activity \(activity.rawValue)"
}

/// One loop with everything: a block, a signalled source, a timer that is due at once, then one that stops the loop.
func turn() {
  let loop = CFRunLoopGetCurrent()
  let observer = CFRunLoopObserverCreateWithHandler(nil, CFOptionFlags(0xfff_ffff), true, 0) { _, activity in
    print(word(activity))
  }
  CFRunLoopAddObserver(loop, observer, kCFRunLoopDefaultMode)
  var context = CFRunLoopSourceContext()
  context.perform = { _ in print("  source") }
  let source = CFRunLoopSourceCreate(nil, 0, &context)
  CFRunLoopAddSource(loop, source, kCFRunLoopDefaultMode)
  CFRunLoopSourceSignal(source)
  RunLoop.current.perform { print("  block") }
  let timer = Timer(timeInterval: 0, repeats: false) { _ in
    print("  timer")
    CFRunLoopStop(CFRunLoopGetCurrent())
  }
  RunLoop.current.add(timer, forMode: .default)
  CFRunLoopRun()
  CFRunLoopSourceInvalidate(source)
}

@main struct Main {
  static func main() {
    switch variant {
    case "turn": turn()
    case "pending": rounds { _ in give(false) }
    case "turned": rounds { _ in give(true) }
    default: unknownVariant("turn", "pending", "turned")
    }
    fflush(stdout)
    exit(0)
  }
}
