// The history of one object against what the test did to it.
import Lifespan
import XCTest

final class HistoryTests: RecordedTestCase {
  final class Watched: Tracked { var value = 1 }
  final class Unwatched { var value = 1 }
  final class Late { var value = 1 }

  struct Weakly {
    weak var object: Watched?
    init(_ object: Watched) { self.object = object }
  }

  @inline(never) private func retain(_ object: Unmanaged<Watched>) { _ = object.retain() }
  @inline(never) private func release(_ object: Unmanaged<Watched>) { object.release() }
  @inline(never) private func load(_ object: () -> Watched?) -> Bool { object() != nil }

  func testEveryRetainAndReleaseIsThereWithItsCount() throws {
    let object = made { Watched() }
    let unmanaged = Unmanaged.passUnretained(object)
    let before = Allocations.history(of: object).events.count
    for _ in 0..<3 { retain(unmanaged) }
    for _ in 0..<3 { release(unmanaged) }
    let history = Allocations.history(of: object)
    XCTAssertEqual(history.type, "LifespanTests.HistoryTests.Watched")
    XCTAssertEqual(history.size, 24)
    XCTAssertEqual(history.dropped, 0)
    XCTAssertNil(history.missing)
    XCTAssertEqual(history.events.first?.kind, .birth)
    XCTAssertEqual(history.events.first?.countAfter, 1)
    var count = 1
    for event in history.events.dropFirst() {
      XCTAssertEqual(event.countBefore, count, "\(event.kind): counts follow each other without a gap")
      count = event.countAfter ?? -1
    }
    let mine = history.events.dropFirst(before).map(\.kind)
    XCTAssertEqual(mine.filter { $0 == .retain(1) }.count, mine.filter { $0 == .release(1) }.count)
    XCTAssertGreaterThanOrEqual(mine.filter { $0 == .retain(1) }.count, 3)
  }

  func testTimesRiseAndBacktracesNameTheImages() throws {
    let object = made { Watched() }
    retain(Unmanaged.passUnretained(object))
    let history = Allocations.history(of: object)
    release(Unmanaged.passUnretained(object))
    XCTAssertGreaterThan(history.events.count, 1)
    for (event, next) in zip(history.events, history.events.dropFirst()) {
      XCTAssertLessThanOrEqual(event.nanoseconds, next.nanoseconds)
    }
    for event in history.events {
      XCTAssertGreaterThan(event.backtrace.count, 5)
      XCTAssertNotNil(event.backtrace.first?.symbol()?.image)
    }
    // XCTest's own functions are exported.
    let names = history.events.first?.backtrace.compactMap { $0.symbol()?.function } ?? []
    XCTAssertTrue(names.contains { $0.contains("XCTest") }, "\(names)")
  }

  func testAWeakLoadIsARetainOfItsOwnKind() throws {
    let object = made { Watched() }
    let weakly = Weakly(object)
    XCTAssertTrue(load { weakly.object })
    let flavours = Allocations.history(of: object).events.compactMap(\.flavour)
    XCTAssertTrue(flavours.contains(.weakLoad), "\(flavours)")
  }

  func testTheRecordedCountIsTheRuntimesOwn() {
    let object = made { Watched() }
    var held: [Watched] = []
    for _ in 0..<5 { held.append(object) }
    let weakly = Weakly(object)
    XCTAssertTrue(load { weakly.object })
    let history = Allocations.history(of: object)
    guard let count = history.retainCount else {
      // Where threads run already, a hook may not be possible.
      return XCTAssertNotEqual(Allocations.capture, .complete)
    }
    XCTAssertGreaterThan(count, 5)
    XCTAssertEqual(history.runtimeRetainCount, count)
    XCTAssertEqual(history.events.last?.countAfter, count)
    for (event, next) in zip(history.events, history.events.dropFirst()) {
      XCTAssertEqual(event.countAfter, next.countBefore, "\(next.kind)")
    }
    held.removeAll()
    let later = Allocations.history(of: object)
    XCTAssertEqual(later.runtimeRetainCount, later.retainCount)
    XCTAssertLessThan(later.retainCount ?? count, count)
  }

  func testWhatIsNotCountedHasTheRuntimesCountAlone() {
    let object = made { Unwatched() }
    XCTAssertNil(Allocations.history(of: object).retainCount)
    XCTAssertGreaterThan(Allocations.history(of: object).runtimeRetainCount, 0)
  }

  func testAnUntrackedTypeHasItsBirthAlone() {
    let object = made { Unwatched() }
    let history = Allocations.history(of: object)
    XCTAssertEqual(history.events.map(\.kind), [.birth])
    XCTAssertNotNil(history.serial)
  }

  func testAClassTrackedLaterIsFollowedFromThenOn() {
    Allocations.track(Late.self)
    let object = made { Late() }
    XCTAssertTrue(Allocations.history(of: object).events.contains { $0.kind == .retain(1) || $0.kind == .release(1) })
  }

  func testAnObjectThatIsNotRecordedHasNoHistory() {
    final class NoCache { var value = 1 }
    let object = made { NoCache() }
    let history = Allocations.history(of: object)
    XCTAssertNil(history.serial)
    XCTAssertTrue(history.events.isEmpty)
  }

  func testEventsInATaskNameIt() async {
    let task = Task { () -> Allocations.History in
      let object = made { Watched() }
      return Allocations.history(of: object)
    }
    let history = await task.value
    XCTAssertNotNil(history.events.first?.task)
  }
}
