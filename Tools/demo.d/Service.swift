// The sample that Tools/demo records: a small service that abandons memory in two usual ways.
//
// Its page cache uses a key that never repeats, and its reminders keep their session long after it has ended. Everything
// stays reachable, so a leak finder finds nothing; the growth from mark to mark shows it.

import Glibc

/// One visitor's request; made and gone, as it should be.
final class Request {
  let path: String
  let visitor: Int
  init(path: String, visitor: Int) {
    self.path = path
    self.visitor = visitor
  }
}

/// A rendered page.
final class Response {
  let body: [UInt8]
  init(body: [UInt8]) { self.body = body }
}

/// The parsed layout of one kind of page: made once, then used again.
final class Template {
  let text: String
  init(text: String) { self.text = text }
}

/// A visitor's session, over after the visit.
final class Session {
  let visitor: Int
  init(visitor: Int) { self.visitor = visitor }
  func expire() -> Int { visitor }
}

/// Keeps what it has rendered. The mistake: the key contains the visitor, so that nothing is ever found again.
final class PageCache {
  private var pages: [String: Response] = [:]
  private var templates: [String: Template] = [:]

  func response(to request: Request) -> Response {
    let key = "\(request.path)?visitor=\(request.visitor)"
    if let page = pages[key] { return page }
    let page = Response(body: Array("\(template(for: request.path).text) for \(request.visitor)".utf8))
    pages[key] = page
    return page
  }

  private func template(for path: String) -> Template {
    if let template = templates[path] { return template }
    let template = Template(text: "<h1>\(path)</h1>")
    templates[path] = template
    return template
  }
}

/// Calls back later. The mistake: nobody ever cancels, and the block keeps its session.
final class Reminders {
  private var blocks: [() -> Int] = []
  func later(_ block: @escaping () -> Int) { blocks.append(block) }
}

/// Names the generation that ends now, where a recorder is in the process; the service links nothing for it.
func markGeneration(_ name: String) {
  typealias Mark = @convention(c) (UnsafePointer<CChar>?) -> Void
  guard let address = dlsym(nil, "lifespan_mark_generation") else { return }
  unsafeBitCast(address, to: Mark.self)(name)
}

@main
enum Service {
  static func main() {
    let cache = PageCache()
    let reminders = Reminders()
    var bytes = 0
    serve(visitors: 0..<100, cache, reminders, &bytes)
    markGeneration("warm-up")
    for round in 1...4 {
      serve(visitors: round * 100..<round * 100 + 100, cache, reminders, &bytes)
      markGeneration("round \(round)")
    }
    print("served 500 visitors, \(bytes) bytes")
    withExtendedLifetime((cache, reminders)) { exit(0) }
  }

  static func serve(visitors: Range<Int>, _ cache: PageCache, _ reminders: Reminders, _ bytes: inout Int) {
    for visitor in visitors {
      let session = Session(visitor: visitor)
      let request = Request(path: visitor % 2 == 0 ? "/home" : "/news", visitor: visitor)
      bytes += cache.response(to: request).body.count
      reminders.later { session.expire() }
    }
  }
}
