// A repeating timer that does not keep its target: reusable as it is.
import Foundation

/// Calls a target again and again without keeping it. At the first fire after the target has died the timer stops itself, so that nobody
/// has to remember it; `stop()` does it earlier.
///
/// The run loop keeps the timer, the timer its block, the block this proxy, and the proxy holds the target weakly. Foundation of Swift 6.3 on
/// Linux never frees a `Timer` that was made; with this only the timer and the proxy stay, 200 bytes, and not the target.
final class WeakTimer {
  private weak var target: AnyObject?
  private weak var timer: Timer?

  /// Repeats on the current run loop, in its default mode. `fire` gets the target, so that it need not capture it.
  @discardableResult
  init<Target: AnyObject>(every interval: TimeInterval, target: Target, fire: @escaping (Target) -> Void) {
    self.target = target
    let timer = Timer(timeInterval: interval, repeats: true) { [self] timer in
      guard let target = self.target as? Target else { return timer.invalidate() }
      fire(target)
    }
    self.timer = timer
    RunLoop.current.add(timer, forMode: .default)
  }

  /// Whether it may fire again.
  var isRunning: Bool { timer?.isValid ?? false }

  /// Stops it now.
  func stop() { timer?.invalidate() }
}
