// A session keeps its delegate until it is invalidated, as URLSession does; the uploader is the delegate, and keeps its session.
//
// Variants:
//   forgotten    nobody invalidates the session: the two hold each other, with the bodies that are queued
//   invalidated  the uploader invalidates its session when it has finished
//   shared       one session for all uploads, which is never invalidated and has no delegate of each upload's: it lives, and does not grow
import Glibc

protocol SessionDelegate: AnyObject { func session(_ session: Session, sent bytes: Int) }

final class Body {
  let bytes: [UInt8]
  init(_ count: Int) { bytes = [UInt8](repeating: 7, count: count) }
}

final class Session {
  /// Strong on purpose.
  private var delegate: (any SessionDelegate)?
  private var queue: [Body] = []
  init(delegate: (any SessionDelegate)?) { self.delegate = delegate }

  func send(_ body: Body) -> Int {
    queue.append(body)
    delegate?.session(self, sent: body.bytes.count)
    if delegate == nil { queue.removeAll() }
    return body.bytes.count
  }

  func finishAndInvalidate() {
    delegate = nil
    queue = []
  }
}

nonisolated(unsafe) let shared = Session(delegate: nil)

final class Uploader: SessionDelegate {
  private var session: Session?
  private(set) var sent = 0

  func session(_ session: Session, sent bytes: Int) { sent += bytes }

  func upload() -> Int {
    if variant == "shared" { return shared.send(Body(3_000)) }
    let session = Session(delegate: self)
    self.session = session
    let bytes = session.send(Body(3_000))
    if variant == "invalidated" { session.finishAndInvalidate() }
    return bytes
  }
}

@inline(never) func request() -> Int { Uploader().upload() }

@main struct Main {
  static func main() {
    guard ["forgotten", "invalidated", "shared"].contains(variant) else {
      unknownVariant("forgotten", "invalidated", "shared")
    }
    var sent = 0
    rounds { _ in for _ in 0..<4 { sent += request() } }
    print("\(sent) bytes")
    fflush(stdout)
    exit(0)
  }
}
