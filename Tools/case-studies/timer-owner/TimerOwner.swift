// A screen with a clock: a repeating timer moves its hands. It is opened and closed in every round.
//
// Variants:
//   strong       the timer's block captures the screen, and nobody stops the timer: the run loop keeps both
//   invalidated  closing stops the timer: right, but Foundation of Swift 6.3 on Linux keeps every timer, and its block with it
//   weak         the block captures the screen weakly, and closing stops the timer
//   weak-timer   WeakTimer stops itself at the first fire after the screen has died
//   dispatch     a timer source of Dispatch, cancelled at closing
import Dispatch
import Foundation

/// What moves the hands.
enum Ticking {
  case none
  case timer(Timer)
  case source(any DispatchSourceTimer)
}

final class ClockScreen: @unchecked Sendable {
  nonisolated(unsafe) static var living = 0
  private var hands = 0
  private var ticking = Ticking.none
  /// Where the source's blocks run: it is asked for when all of them must have ended.
  static let queue = DispatchQueue(label: "clock")

  init() { ClockScreen.living += 1 }
  deinit { ClockScreen.living -= 1 }

  func tick() { hands += 1 }

  func open() {
    switch variant {
    case "weak-timer":
      weakTimers.append(WeakTimer(every: 0.001, target: self) { $0.tick() })
    case "dispatch":
      let source = DispatchSource.makeTimerSource(queue: ClockScreen.queue)
      source.schedule(deadline: .now(), repeating: 1_000)
      source.setEventHandler { [weak self] in self?.tick() }
      source.resume()
      ticking = .source(source)
    case "weak":
      ticking = .timer(repeating { [weak self] in self?.tick() })
    default:
      ticking = .timer(repeating { self.tick() })
    }
  }

  private func repeating(_ body: @escaping () -> Void) -> Timer {
    let timer = Timer(timeInterval: 1_000, repeats: true) { _ in body() }
    RunLoop.main.add(timer, forMode: .default)
    return timer
  }

  func close() {
    switch (variant, ticking) {
    case ("strong", _): break
    case (_, .timer(let timer)): timer.invalidate()
    case (_, .source(let source)):
      let cancelled = DispatchSemaphore(value: 0)
      source.setCancelHandler { cancelled.signal() }
      source.cancel()
      cancelled.wait()
    case (_, .none): break
    }
    ticking = .none
  }
}

/// Those of the round: it is over when all have stopped themselves.
nonisolated(unsafe) var weakTimers: [WeakTimer] = []

@inline(never) func show() {
  let screen = ClockScreen()
  screen.open()
  screen.close()
}

@main struct Main {
  static func main() {
    guard ["strong", "invalidated", "weak", "weak-timer", "dispatch"].contains(variant) else {
      unknownVariant("strong", "invalidated", "weak", "weak-timer", "dispatch")
    }
    rounds { _ in
      show()
      // A turn of the run loop, and more until the weak timers have stopped themselves.
      repeat {
        _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: 0.001))
      } while weakTimers.contains { $0.isRunning }
      weakTimers = []
      if variant == "dispatch" { ClockScreen.queue.sync {} }
    }
    print("\(ClockScreen.living) screens")
    fflush(stdout)
    exit(0)
  }
}
