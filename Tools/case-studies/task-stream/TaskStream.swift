// A page shows the prices that a feed sends. Its task awaits the feed's stream, which never ends.
//
// Variants:
//   forever    the task captures the page and is never cancelled: it waits for ever, and keeps the page
//   cancelled  closing the page cancels the task
//   weak       the task takes the page anew, weakly, for every price: the page dies, and its deinit cancels the task
//   finished   closing the page ends its subscription, and with it the stream
import Glibc

/// Sends prices to whoever has subscribed. It lives as long as the program.
@MainActor final class Feed {
  static let shared = Feed()
  private var subscribers: [Int: AsyncStream<Int>.Continuation] = [:]
  private var next = 0
  /// Subscriptions that nobody has ended.
  var count: Int { subscribers.count }

  func subscribe() -> (number: Int, prices: AsyncStream<Int>) {
    next += 1
    let (stream, continuation) = AsyncStream<Int>.makeStream()
    subscribers[next] = continuation
    return (next, stream)
  }

  func send(_ price: Int) { for continuation in subscribers.values { continuation.yield(price) } }
  func end(_ number: Int) { subscribers.removeValue(forKey: number)?.finish() }
}

@MainActor final class Page {
  nonisolated(unsafe) static var living = 0
  private(set) var prices: [Int] = []
  private var task: Task<Void, Never>?
  private var subscription = 0

  init() { Page.living += 1 }
  deinit {
    task?.cancel()
    Page.living -= 1
  }

  func show(_ price: Int) { prices.append(price) }

  func open() {
    let (number, stream) = Feed.shared.subscribe()
    subscription = number
    if variant == "weak" {
      task = Task { [weak self] in
        for await price in stream { self?.show(price) }
        Feed.shared.end(number)
      }
    } else {
      task = Task {
        for await price in stream { self.show(price) }
        Feed.shared.end(number)
      }
    }
  }

  func close() {
    switch variant {
    case "cancelled": task?.cancel()
    case "finished": Feed.shared.end(subscription)
    default: break
    }
  }
}

/// Opened, shown a price, closed.
@inline(never) @MainActor func visit(_ price: Int) async {
  let page = Page()
  page.open()
  Feed.shared.send(price)
  while page.prices.isEmpty { await Task.yield() }
  page.close()
}

@main struct Main {
  @MainActor static func main() async {
    guard ["forever", "cancelled", "weak", "finished"].contains(variant) else {
      unknownVariant("forever", "cancelled", "weak", "finished")
    }
    await rounds { round in
      await visit(round + 1)
      // A task that was cancelled ends when its turn comes.
      if variant != "forever" { while Page.living > 0 || Feed.shared.count > 0 { await Task.yield() } }
    }
    print("\(Page.living) pages")
    flush()
  }

  static func flush() -> Never {
    fflush(stdout)
    exit(0)
  }
}
