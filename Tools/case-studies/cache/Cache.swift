// A server renders pages and caches them.
//
// Variants:
//   without-limit  the key contains the visitor, so that nothing is ever found again, and everything is kept
//   with-limit     the same key, but at most eight pages: all are replaced in every round, and their number stands still
//   right-key      the key is the path: filled in the first round
import Glibc

final class Page {
  let body: [UInt8]
  init(_ text: String) { body = Array(text.utf8) }
}

/// Keeps pages; with a limit the oldest goes.
final class PageCache {
  private let limit: Int?
  private var pages: [String: Page] = [:]
  private var order: [String] = []

  init(limit: Int? = nil) { self.limit = limit }

  func page(_ key: String, make: () -> Page) -> Page {
    if let page = pages[key] { return page }
    let page = make()
    pages[key] = page
    order.append(key)
    if let limit, order.count > limit { pages[order.removeFirst()] = nil }
    return page
  }
}

nonisolated(unsafe) var cache = PageCache()

@inline(never) func serve(_ path: String, to visitor: Int) -> Int {
  let key = variant == "right-key" ? path : "\(path)?visitor=\(visitor)"
  return cache.page(key) { Page("<h1>\(path)</h1> for \(visitor)") }.body.count
}

@main struct Main {
  static func main() {
    switch variant {
    case "without-limit", "right-key": cache = PageCache()
    case "with-limit": cache = PageCache(limit: 8)
    default: unknownVariant("without-limit", "with-limit", "right-key")
    }
    var bytes = 0
    rounds { round in
      for visitor in 0..<5 {
        for path in ["/", "/news", "/about", "/contact"] { bytes += serve(path, to: 100 * round + visitor) }
      }
    }
    print("\(bytes) bytes")
    fflush(stdout)
    exit(0)
  }
}
