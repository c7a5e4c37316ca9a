// What is tested: a shop whose visits leave their sessions behind where that is planted.
import Foundation

let isPlanted = ProcessInfo.processInfo.environment["PLANTED"] == "1"

final class Session: Sendable { let number = 1 }
final class Page: Sendable { let number = 1 }
final class Receipt: Sendable { let number = 1 }

final class Registry: @unchecked Sendable {
  static let shared = Registry()
  private let lock = NSLock()
  private var kept: [AnyObject] = []

  func keep(_ object: AnyObject) { lock.withLock { kept.append(object) } }
}

@inline(never) func visit() {
  let session = Session()
  if isPlanted { Registry.shared.keep(session) }
}

/// In a task below the caller's.
@inline(never) func visitInTasks() async {
  await withTaskGroup(of: Void.self) { group in
    group.addTask {
      await Task.yield()
      visit()
    }
  }
}

@inline(never) func open() -> Page {
  let page = Page()
  if isPlanted { Registry.shared.keep(page) }
  return page
}

final class Basket: @unchecked Sendable {
  var other: Basket?
  var whenEmpty: (() -> Void)?
}

/// Two that hold each other.
@inline(never) func tie() {
  let baskets = (Basket(), Basket())
  baskets.0.other = baskets.1
  if isPlanted { baskets.1.other = baskets.0 }
}

/// One that holds itself by a closure.
@inline(never) func capture() {
  let basket = Basket()
  if isPlanted {
    basket.whenEmpty = { basket.other = nil }
  } else {
    basket.whenEmpty = { [weak basket] in basket?.other = nil }
  }
}

@inline(never) func tieInTasks() async {
  await withTaskGroup(of: Void.self) { group in
    group.addTask {
      await Task.yield()
      tie()
    }
  }
}

@inline(never) func print(_ count: Int) {
  for _ in 0..<(isPlanted ? count + 1 : count) { withExtendedLifetime(Receipt()) {} }
}

/// Takes a reference, and gives it back.
@inline(never) func hand(_ page: Page, _ times: Int) {
  for _ in 0..<times { Unmanaged.passUnretained(page).retain().release() }
}

actor Till {
  private var count = 0
  func add() { count += 1 }
}
