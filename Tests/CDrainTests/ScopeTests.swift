// Scopes: which births belong to a task and the tasks below it, or to a thread.
import CDrain
import CDrainTestSupport
import CTraceFormat
import XCTest

final class ScopeTests: XCTestCase {
  private let thread = UInt64(1) << 63

  func testAScopeHoldsWhatItsTaskAndTheTasksBelowItMakeBetweenItsBeginAndItsEnd() throws {
    let recording = try Recording(rings: 2)
    recording.task(1, task: 7)
    recording.birth(2, 0x10)
    let scope = recording.begin(7)
    recording.task(recording.now, task: 8, parent: 7)
    recording.birth(recording.now, 0x20)
    recording.task(recording.now, task: 9, parent: 8)
    recording.birth(recording.now, 0x30)
    recording.task(recording.now, task: 50)
    recording.birth(recording.now, 0x40)
    XCTAssertEqual(recording.living(scope), [0x20: .inside, 0x30: .inside, 0x40: .inNone])
    recording.end(scope)
    recording.task(recording.now, task: 9)
    recording.birth(recording.now, 0x50)
    recording.death(recording.now, 0x20)
    XCTAssertEqual(recording.living(scope), [0x30: .inside, 0x40: .inNone])
    recording.forget(scope)
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_SCOPE_LIVING, address: scope).error, -Int64(ENOENT))
  }

  func testAScopeInsideOfAnotherIsPartOfItAndNotTheOtherWayRound() throws {
    let recording = try Recording()
    recording.task(1, task: 7)
    let outer = recording.begin(7)
    recording.birth(recording.now, 0x10)
    let inner = recording.begin(7)
    recording.task(recording.now, task: 8, parent: 7)
    recording.birth(recording.now, 0x20)
    recording.end(inner)
    recording.task(recording.now, task: 7)
    recording.birth(recording.now, 0x30)
    XCTAssertEqual(recording.living(inner), [0x20: .inside])
    XCTAssertEqual(recording.living(outer), [0x10: .inside, 0x20: .inside, 0x30: .inside])
    recording.end(outer)
    let both = recording.livingInEnded()
    XCTAssertEqual(both[inner], [0x20])
    XCTAssertEqual(both[outer], [0x10, 0x20, 0x30])
    recording.forget(inner)
    XCTAssertEqual(recording.living(outer), [0x10: .inside, 0x20: .inside, 0x30: .inside], "what was the inner one's")
  }

  func testTwoTasksSideBySideHaveTheirOwn() throws {
    let recording = try Recording(rings: 2)
    recording.task(1, task: 7)
    recording.task(1, task: 8, ring: 1)
    let first = recording.begin(7)
    let second = recording.begin(8)
    recording.birth(recording.now, 0x10)
    recording.birth(recording.now, 0x20, ring: 1)
    XCTAssertEqual(recording.living(first), [0x10: .inside, 0x20: .inAnother])
    XCTAssertEqual(recording.living(second), [0x10: .inAnother, 0x20: .inside])
  }

  func testAThreadsScopeHoldsItsBirthsAndTheTasksWithoutAParentThatWereMadeSince() throws {
    let recording = try Recording(rings: 2)
    recording.thread(1, tid: 41, ring: 0)
    recording.thread(2, tid: 42, ring: 1)
    recording.task(1, task: 5, ring: 1)
    recording.task(2, task: 0, ring: 1)
    let scope = recording.begin(thread, thread: 41)
    recording.birth(recording.now, 0x10)
    recording.birth(recording.now, 0x20, ring: 1)
    recording.task(recording.now, task: 6, ring: 1)
    recording.birth(recording.now, 0x30, ring: 1)
    recording.task(recording.now, task: 5, ring: 1)
    recording.birth(recording.now, 0x40, ring: 1)
    recording.task(recording.now, task: 9, parent: 5, ring: 1)
    recording.birth(recording.now, 0x50, ring: 1)
    XCTAssertEqual(
      recording.living(scope), [0x10: .inside, 0x20: .inNone, 0x30: .inside, 0x40: .inNone, 0x50: .inNone])
  }

  func testAThreadMayTurnUpAfterItsScopeHasBegun() throws {
    let recording = try Recording(rings: 2)
    recording.birth(1, 0x10)
    recording.round()
    let scope = recording.begin(thread, thread: 42)
    recording.thread(2, tid: 42, ring: 1)
    recording.birth(recording.now, 0x20, ring: 1)
    XCTAssertEqual(recording.living(scope), [0x20: .inside])
  }

  func testATallyCountsWhatDiedTooByType() throws {
    let recording = try Recording()
    recording.task(1, task: 7)
    recording.birth(1, 0x10, type: 3)
    let outer = recording.begin(7, tallied: true)
    let inner = recording.begin(7, tallied: true)
    for number in UInt64(0)..<1_000 {
      recording.birth(recording.now, 0x1000 + number * 16, type: UInt32(1 + number % 400))
      recording.death(recording.now, 0x1000 + number * 16)
      if number % 100 == 0 { recording.round() }
    }
    recording.retain(recording.now, 0x10, before: 1)
    recording.end(inner)
    recording.birth(recording.now, 0x20, type: 3)
    let rows = recording.scopeRows(inner)
    XCTAssertEqual(rows.count, 400)
    XCTAssertEqual(rows[1]?.births, 3)
    XCTAssertEqual(rows[400]?.births, 2)
    XCTAssertEqual(rows[3]?.births, 3)
    XCTAssertEqual(rows[3]?.retains, 1)
    XCTAssertEqual(recording.scopeRows(outer)[3]?.births, 4)
    XCTAssertEqual(recording.scopeRows(outer, room: 80).count, 400, "in many pieces")
  }

  func testThousandsOfScopesComeAndGo() throws {
    let recording = try Recording()
    var open: [UInt64] = []
    for task in UInt64(1)...3_000 {
      recording.task(recording.now, task: task)
      open.append(recording.begin(task))
      recording.birth(recording.now, task * 16)
      if task % 3 == 0 { recording.forget(open.removeFirst()) }
    }
    XCTAssertEqual(open.count, 2_000)
    XCTAssertEqual(Set(open).count, 2_000)
    for (number, scope) in open.enumerated() where number % 97 == 0 {
      XCTAssertEqual(recording.living(scope).filter { $0.value == .inside }, [UInt64(1_001 + number) * 16: .inside])
    }
    open.forEach { recording.forget($0) }
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_SCOPE_END, address: open[0]).error, -Int64(ENOENT))
  }

  func testAnObjectIsFoundByItsAddress() throws {
    let recording = try Recording()
    recording.birth(5, 0x10, type: 4, size: 24)
    recording.round()
    var found: [lifespan_scope_object] = []
    let take: (UnsafeRawBufferPointer) -> Int = {
      found = $0.objects; return 1
    }
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_OBJECT, address: 0x10, starts: take).error, 0)
    XCTAssertEqual(found.first?.serial, 1)
    XCTAssertEqual(found.first?.ticks, 5)
    XCTAssertEqual(found.first?.size, 24)
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_OBJECT, address: 0x20).error, -Int64(ENOENT))
  }
}

private enum Place: UInt32 { case none, inside, inNone, inAnother }

extension UnsafeRawBufferPointer {
  fileprivate var objects: [lifespan_scope_object] {
    let size = MemoryLayout<lifespan_scope_object>.size
    return (0..<count / size).map { loadUnaligned(fromByteOffset: $0 * size, as: lifespan_scope_object.self) }
  }
}

extension Recording {
  fileprivate var now: Int64 { Int64(fake_now(fake)) }

  fileprivate func task(_ stamp: Int64, task: UInt64, parent: UInt64 = 0, ring: UInt32 = 0) {
    XCTAssertTrue(fake_task(fake, ring, stamp, task, parent))
  }

  fileprivate func thread(_ number: UInt32, tid: UInt32, ring: UInt32) {
    fake_owner(fake, ring, tid)
    XCTAssertTrue(fake_thread(fake, ring, number, tid, "one"))
  }

  fileprivate func begin(_ task: UInt64, thread: UInt32 = 0, tallied: Bool = false) -> UInt64 {
    round()
    var scope: UInt64 = 0
    let answer = ask(LIFESPAN_ASK_SCOPE_BEGIN, address: task, generation: thread | (tallied ? 1 << 31 : 0)) {
      scope = $0.loadUnaligned(as: lifespan_scope_begun.self).scope
      return 1
    }
    XCTAssertEqual(answer.error, 0)
    return scope
  }

  fileprivate func end(_ scope: UInt64) {
    round()
    XCTAssertEqual(ask(LIFESPAN_ASK_SCOPE_END, address: scope).error, 0)
  }

  fileprivate func forget(_ scope: UInt64) {
    round()
    XCTAssertEqual(ask(LIFESPAN_ASK_SCOPE_FORGET, address: scope).error, 0)
  }

  fileprivate func objects(_ scope: UInt64) -> [lifespan_scope_object] {
    round()
    var objects: [lifespan_scope_object] = []
    let room = MemoryLayout<lifespan_scope_object>.size * 2
    let answer = ask(LIFESPAN_ASK_SCOPE_LIVING, address: scope, room: room) {
      objects += $0.objects
      return $0.objects.count
    }
    XCTAssertEqual(answer.error, 0)
    return objects
  }

  fileprivate func living(_ scope: UInt64) -> [UInt64: Place] {
    Dictionary(uniqueKeysWithValues: objects(scope).map { (~$0.inverted, Place(rawValue: $0.place) ?? .none) })
  }

  fileprivate func livingInEnded() -> [UInt64: [UInt64]] {
    Dictionary(grouping: objects(0), by: \.scope).mapValues { $0.map { ~$0.inverted }.sorted() }
  }

  fileprivate func scopeRows(_ scope: UInt64, room: Int = 4_096) -> [UInt32: lifespan_scope_row] {
    round()
    var rows: [UInt32: lifespan_scope_row] = [:]
    let answer = ask(LIFESPAN_ASK_SCOPE_ROWS, address: scope, room: room) { piece in
      let size = MemoryLayout<lifespan_scope_row>.size
      for at in 0..<piece.count / size {
        let row = piece.loadUnaligned(fromByteOffset: at * size, as: lifespan_scope_row.self)
        rows[row.type] = row
      }
      return piece.count / size
    }
    XCTAssertEqual(answer.error, 0)
    return rows
  }
}
