// Foundation's timers outlive their end: `timers none|weak|strong`, by what their block captures. Fifty are made, invalidated and dropped; weak
// references tell how many live on, though nobody has them any more.
import Foundation

final class Screen {
  var ticks = 0
}
final class Watcher {
  weak var timer: Timer?
  init(_ timer: Timer) { self.timer = timer }
}
nonisolated(unsafe) var watchers: [Watcher] = []

@inline(never) func run(_ way: String) {
  let screen = Screen()
  let timer: Timer
  switch way {
  case "weak": timer = Timer(timeInterval: 1000, repeats: true) { [weak screen] _ in screen?.ticks += 1 }
  case "strong": timer = Timer(timeInterval: 1000, repeats: true) { _ in screen.ticks += 1 }
  default: timer = Timer(timeInterval: 1000, repeats: true) { _ in }
  }
  RunLoop.main.add(timer, forMode: .default)
  watchers.append(Watcher(timer))
  timer.invalidate()
}

@main struct Timers {
  static func main() {
    for _ in 0..<50 { run(CommandLine.arguments[1]) }
    RunLoop.main.run(until: Date())
    print("TRUTH {\"leaked\":\(watchers.filter { $0.timer != nil }.count)}")
    fflush(stdout)
    exit(0)
  }
}
