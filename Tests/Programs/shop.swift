// shop [mended] [wait]: what the articles on the commands are shown with (Tests/Behaviour/command_pages.py). Five rounds of ten visitors, a mark
// after each. What it does wrong: reminders keep their sessions, and in each round one cart and its discount hold each other. `mended` does
// neither. `wait` prints "open" and waits for the end of its input before it does anything.
import Glibc

final class Session {
  let visitor: Int
  init(visitor: Int) { self.visitor = visitor }
  func expire() -> Int { visitor }
}

/// Made and gone, as it should be.
final class Request {
  let visitor: Int
  init(visitor: Int) { self.visitor = visitor }
}

/// Made once for each kind of page, then used again.
final class Template {
  let name: String
  init(name: String) { self.name = name }
}

final class Cart {
  var discount: Discount?
}
final class Discount {
  var cart: Cart?
}

/// The mistake: nobody ever takes one out.
final class Reminders {
  var sessions: [Session] = []
}

/// Names the generation that ends now, where a recorder is in the process; nothing is linked for it.
func markGeneration(_ name: String) {
  typealias Mark = @convention(c) (UnsafePointer<CChar>?) -> Void
  guard let address = dlsym(nil, "lifespan_mark_generation") else { return }
  unsafeBitCast(address, to: Mark.self)(name)
}

@main enum Shop {
  nonisolated(unsafe) static let reminders = Reminders()
  nonisolated(unsafe) static var templates: [String: Template] = [:]
  nonisolated(unsafe) static var served = 0

  static func main() {
    let mended = CommandLine.arguments.contains("mended")
    if CommandLine.arguments.contains("wait") {
      print("open")
      fflush(nil)
      _ = readLine()
    }
    startWorker()
    round(0..<10, mended)
    markGeneration("warm-up")
    for number in 1...4 {
      round(number * 10..<number * 10 + 10, mended)
      markGeneration("round \(number)")
    }
    print("served \(served) visitors")
    exit(0)
  }

  /// A thread that is named before this returns, and then waits for ever.
  static func startWorker() {
    pthread_barrier_init(&named, nil, 2)
    var worker = pthread_t()
    pthread_create(
      &worker, nil,
      { _ in
        typealias SetName = @convention(c) (pthread_t, UnsafePointer<CChar>) -> CInt
        if let address = dlsym(nil, "pthread_setname_np") {
          _ = unsafeBitCast(address, to: SetName.self)(pthread_self(), "stock")
        }
        pthread_barrier_wait(&Shop.named)
        while true { pause() }
      }, nil)
    pthread_barrier_wait(&named)
  }
  nonisolated(unsafe) static var named = pthread_barrier_t()

  @inline(never) static func round(_ visitors: Range<Int>, _ mended: Bool) {
    for visitor in visitors { visit(visitor, mended) }
    order(mended)
  }

  @inline(never) static func visit(_ visitor: Int, _ mended: Bool) {
    let session = Session(visitor: visitor)
    let request = Request(visitor: visitor)
    let page = visitor % 2 == 0 ? "home" : "news"
    if templates[page] == nil { templates[page] = Template(name: page) }
    if !mended { reminders.sessions.append(session) }
    served += withExtendedLifetime((session, request)) { 1 }
  }

  @inline(never) static func order(_ mended: Bool) {
    let cart = Cart()
    let discount = Discount()
    cart.discount = discount
    discount.cart = cart
    if mended { cart.discount = nil }
  }
}
