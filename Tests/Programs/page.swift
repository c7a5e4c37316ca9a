// What every view of the page shows: rounds with marks, objects that stay and that go, a cycle that is lost, a thread; and names that
// would do harm in a page that took them for markup. With a number of rounds, of objects a round, and of objects that stay from the start.
import Glibc

final class Session {
  static let tally = Tally("Session")
  let born = Session.tally.made()
  deinit { Session.tally.gone(born) }
}

final class Request {
  static let tally = Tally("Request")
  let born = Request.tally.made()
  deinit { Request.tally.gone(born) }
}

/// Held in several places.
final class Shared {}
nonisolated(unsafe) var places: [Shared?] = []

@inline(never) func share() {
  places = Array(repeating: Shared(), count: 3)
  places[1] = nil
}

/// Two that hold each other and are held by nobody.
final class Lost {
  var other: Lost?
}

final class `</script><img src=x onerror=document.title='taken'>` {}

nonisolated(unsafe) var sessions: [Session] = []
nonisolated(unsafe) var newest: Request?
nonisolated(unsafe) var harmful: [AnyObject] = []

@inline(never) func open(_ count: Int) {
  for _ in 0..<count { sessions.append(Session()) }
}

@inline(never) func serve(_ count: Int) {
  // Each replaces the one before: an object that nobody can see is none of the heap's.
  for _ in 0..<count { newest = Request() }
  newest = nil
}

@inline(never) func lose() {
  let (one, other) = (Lost(), Lost())
  (one.other, other.other) = (other, one)
}

@inline(never) func name() { harmful.append(`</script><img src=x onerror=document.title='taken'>`()) }

@main
enum Program {
  static func main() {
    let rounds = argument(1, default: 4)
    let count = argument(2, default: 50)
    open(argument(3, default: 10))
    mark("</script><script>document.title='taken'</script>")
    for round in 1...rounds {
      open(count)
      serve(2 * count)
      lose()
      // Turned round, ended, hidden.
      mark(round == 2 ? "round 2 \u{202e}\u{2028}\"'&amp;" : "round \(round)")
    }
    name()
    share()
    var thread = pthread_t()
    pthread_create(
      &thread, nil,
      { _ in
        // Swift's Glibc module hides it.
        typealias Rename = @convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32
        _ = unsafeBitCast(dlsym(nil, "pthread_setname_np"), to: Rename.self)(pthread_self(), "<b>bold</b>")
        serve(3)
        return nil
      }, nil)
    pthread_join(thread, nil)
    printTruth(Session.tally, Request.tally)
  }
}
