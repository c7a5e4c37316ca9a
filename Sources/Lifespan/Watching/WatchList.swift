// What is expected to die, and when. Time is passed in, and nothing of the program's is touched: Watcher holds its lock around this.
#if Recording

/// One expectation. What it watches is held weakly.
struct Expectation {
  enum Subject {
    case object(WatchedObject)
    case scope(WatchedScope)
  }
  var subject: Subject
  /// Nanoseconds of the watch's clock.
  var since: UInt64
  var within: UInt64
  /// How often it was looked at after its time was over.
  var looks = 0
  /// A survivor that was told is looked at on: when it was last seen alive, and how long the next pause is.
  var told: Told?

  struct Told {
    var finding: Allocations.Finding
    var lastSeen: UInt64
    var pause: UInt64
  }

  /// After so long a suspect is looked at once more: a thread may be about to let it go.
  var grace: UInt64 { max(10_000_000, min(within / 2, 500_000_000)) }
  var deadline: UInt64 { since &+ within }
  /// Looked at once more already, and not told yet.
  var isToBeTold: Bool { told == nil && looks > 0 }
}

struct WatchedObject {
  weak var object: AnyObject?
  var address: UInt { ~place }
  var inverted: UInt64 { UInt64(place) }
  /// As in ``Child``.
  private let place: UInt
  var ticks: UInt64
  /// False: known by its address and the ticks alone.
  var isWeak: Bool
  var type: any AnyObject.Type
  var reason: String
  var children: [Child]

  init(
    object: AnyObject?, address: UInt, ticks: UInt64, isWeak: Bool, type: any AnyObject.Type, reason: String,
    children: [Child]
  ) {
    (self.object, place, self.ticks, self.isWeak) = (object, ~address, ticks, isWeak)
    (self.type, self.reason, self.children) = (type, reason, children)
  }
}

struct WatchedScope {
  var scope: TaskScope
  var name: String
  var types: Allocations.Types
}

/// By the time at which each is looked at next.
struct WatchList {
  /// In memory of its own: an optional that has become nil keeps the words that it had, and one of them may look like a reference to
  /// whoever lies there now.
  private final class Place {
    let expectation: Expectation
    init(_ expectation: Expectation) { self.expectation = expectation }
  }

  private var places: [Place?] = []
  private var free: [Int] = []
  private var heap: [(time: UInt64, place: Int)] = []
  /// With so many the dead ones are taken out before their time.
  private(set) var sweepAt = 8_192

  var count: Int { heap.count }
  var isDueForSweep: Bool { heap.count >= sweepAt }
  var next: UInt64? { heap.first?.time }

  mutating func add(_ expectation: Expectation, at time: UInt64) {
    let place: Int
    if let last = free.popLast() {
      place = last
      places[place] = Place(expectation)
    } else {
      place = places.count
      places.append(Place(expectation))
    }
    heap.append((time, place))
    var at = heap.count - 1
    while at > 0, heap[at].time < heap[(at - 1) / 2].time {
      heap.swapAt(at, (at - 1) / 2)
      at = (at - 1) / 2
    }
  }

  /// Those whose time has come, in order.
  mutating func takeDue(_ now: UInt64) -> [Expectation] {
    var due: [Expectation] = []
    while let first = heap.first, first.time <= now {
      if let place = places[first.place] { due.append(place.expectation) }
      places[first.place] = nil
      free.append(first.place)
      removeFirst()
    }
    return due
  }

  /// Everything, with its times; the list is empty then.
  mutating func takeAll() -> [(time: UInt64, expectation: Expectation)] {
    let all = heap.compactMap { entry in places[entry.place].map { (time: entry.time, expectation: $0.expectation) } }
    places = []
    free = []
    heap = []
    return all
  }

  mutating func swept() { sweepAt = max(8_192, heap.count * 2) }

  private mutating func removeFirst() {
    let last = heap.removeLast()
    guard !heap.isEmpty else { return }
    heap[0] = last
    var at = 0
    while true {
      let left = 2 * at + 1
      guard left < heap.count else { return }
      let least = left + 1 < heap.count && heap[left + 1].time < heap[left].time ? left + 1 : left
      guard heap[least].time < heap[at].time else { return }
      heap.swapAt(at, least)
      at = least
    }
  }
}
#endif
