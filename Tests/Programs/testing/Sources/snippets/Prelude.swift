// What the examples of the documentation take for granted: a shop with sessions, pages and requests.
import Lifespan

final class Session: TrackedObject {}
class Visitor {}
final class ImageCache {}
final class Connection {}
final class ConnectionPool {}
final class Page {
  var subviews: [AnyObject] = []
  var presenter: AnyObject = Connection()
  func open() {}
}
struct Request: Sendable {
  var method = "GET"
  var path = "/cart"
}
struct Response: Sendable {}
final class Shop {
  func serve(_ visitors: Int) { for _ in 0..<visitors { _ = Visitor() } }
}

nonisolated(unsafe) let session = Session()
nonisolated(unsafe) let pooled = Connection()
let request = Request()

func login() async { _ = Session() }
func logout() async {}
func roundTrip() async { _ = Page() }
func respond(to request: Request) throws {}
func startRecording() throws { try Allocations.start(recording: .tracked) }
