// Questions: asked in process, and through the request slot.
import CDrain
import CDrainTestSupport
import CTraceFormat
import LifespanTrace
import XCTest

final class QuestionTests: XCTestCase {
  func testRowsSumLivingAndTotalByTypeAndSinceAGeneration() throws {
    let recording = try Recording()
    for type in UInt32(1)...40 {
      recording.birth(Int64(type), UInt64(type) << 12, type: type, size: UInt64(type))
      recording.birth(Int64(type), UInt64(type) << 12 | 64, type: type, size: 1)
    }
    recording.death(100, 5 << 12)
    XCTAssertEqual(lifespan_drain_mark(recording.drain, nil, 0), 0)
    let now = Int64(fake_now(recording.fake))
    recording.birth(now, 0x90_0000, type: 5, size: 7)
    recording.round()
    XCTAssertEqual(recording.rows().count, 40)
    XCTAssertEqual(Tally(recording.rows()[5]), Tally(2, 8, 3, 13))
    XCTAssertEqual(Tally(recording.rows(room: 48)[5]), Tally(2, 8, 3, 13), "in many pieces")
    XCTAssertEqual(recording.rows(room: 48).count, 40)
    XCTAssertEqual(recording.rows(since: 1).mapValues { Tally($0) }, [5: Tally(1, 7, 1, 7)])
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_ROWS, room: 8).error, -Int64(EMSGSIZE))
  }

  func testTypesComeWithTheirNames() throws {
    let recording = try Recording()
    for id in UInt32(1)...30 { recording.type(id, "App.Type\(id)") }
    recording.round()
    var names: [UInt32: String] = [:]
    func take(_ piece: UnsafeRawBufferPointer) -> Int {
      var at = 0
      var count = 0
      while at < piece.count {
        let row = piece.loadUnaligned(fromByteOffset: at, as: lifespan_type_row.self)
        at += MemoryLayout<lifespan_type_row>.size
        names[row.type] = String(decoding: piece[at..<at + Int(row.name_length)], as: UTF8.self)
        at += (Int(row.name_length) + 7) & ~7
        count += 1
      }
      return count
    }
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_TYPES, room: 200, starts: take).error, 0)
    XCTAssertEqual(names.count, 30)
    XCTAssertEqual(names[17], "App.Type17")
  }

  func testHistoryTellsAnObjectsEventsAndHowManyAreGone() throws {
    let recording = try Recording(history: 8)
    recording.birth(1, 0x10, type: 4, size: 24)
    for number in 0..<10 { recording.retain(Int64(10 + number), 0x10, before: UInt64(number)) }
    recording.birth(30, 0x20)
    recording.round()
    var head = lifespan_history_head()
    var events: [lifespan_history_event] = []
    var asked = 0
    func take(_ piece: UnsafeRawBufferPointer) -> Int {
      head = piece.loadUnaligned(as: lifespan_history_head.self)
      for number in 0..<Int(head.count) {
        let at = MemoryLayout<lifespan_history_head>.size + number * MemoryLayout<lifespan_history_event>.size
        events.append(piece.loadUnaligned(fromByteOffset: at, as: lifespan_history_event.self))
      }
      // The continuation begins with the number of an event: older ones may be gone by then.
      let next = Int(events.last?.number ?? 0) + 1
      defer { asked = next }
      return next - asked
    }
    let room = MemoryLayout<lifespan_history_head>.size + 3 * MemoryLayout<lifespan_history_event>.size
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_HISTORY, address: 0x10, room: room, starts: take).error, 0)
    XCTAssertEqual(head.serial, 1)
    XCTAssertEqual(head.type, 4)
    XCTAssertEqual(head.size, 24)
    XCTAssertEqual(head.dropped, 4)
    XCTAssertEqual(events.map(\.ticks), Array(13...19))
    XCTAssertEqual(events.map(\.count_before), Array(3...9))
    XCTAssertEqual(events.map(\.number), Array(4...10))
    XCTAssertEqual(head.strong, -1, "its type is not counted")
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_HISTORY, address: 0x999).error, -Int64(ENOENT))
    recording.death(40, 0x20)
    recording.round()
    events = []
    asked = 0
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_HISTORY, address: 0x20, starts: take).error, 0)
    XCTAssertEqual(events.map(\.kind), [LIFESPAN_EVENT_BIRTH.rawValue, LIFESPAN_EVENT_DEATH.rawValue])
    XCTAssertEqual(head.dropped, 0)
  }

  func testAHistoryHasTheCountThatItsEventsLeaveWhereNoneIsMissing() throws {
    let recording = try Recording(history: 4)
    recording.type(1, "App.Counted")
    recording.birth(1, 0x10)
    recording.birth(2, 0x20, type: 2)
    for number in 0..<9 { recording.retain(Int64(10 + number), 0x10) }
    recording.release(30, 0x10)
    recording.round()
    func strong(_ address: UInt64) -> Int64 {
      let piece = recording.ask(LIFESPAN_ASK_HISTORY, address: address).pieces[0]
      return piece.withUnsafeBytes { $0.loadUnaligned(as: lifespan_history_head.self).strong }
    }
    XCTAssertEqual(strong(0x10), 9, "also of events that the ring no longer holds")
    XCTAssertEqual(strong(0x20), -1, "its type is not counted")
    fake_counts_missed(recording.fake, true)
    XCTAssertEqual(strong(0x10), -1, "a hook is missing")
    fake_counts_missed(recording.fake, false)
    recording.death(40, 0x10)
    recording.round()
    XCTAssertEqual(strong(0x10), -1, "it is dead")
  }

  func testMarksAndStacksAndCountsAreAnswered() throws {
    let recording = try Recording()
    XCTAssertTrue(fake_mark(recording.fake, 0, 50, "one"))
    recording.round()
    let marks = recording.ask(LIFESPAN_ASK_MARKS)
    marks.pieces[0].withUnsafeBytes { piece in
      let row = piece.loadUnaligned(as: lifespan_mark_row.self)
      XCTAssertEqual(row.ticks, 50)
      XCTAssertEqual(row.generation, 0)
      XCTAssertEqual(String(decoding: piece[16..<16 + Int(row.name_length)], as: UTF8.self), "one")
    }
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_STACK, address: 2).error, -Int64(ENOENT))
    XCTAssertTrue(fake_node(recording.fake, 0, 2, 0, 0x11, 0, 0))
    XCTAssertTrue(fake_node(recording.fake, 0, 3, 2, 0x22, 0, 0))
    recording.round()
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_STACK, address: 3).pieces[0].count, 16)
    // A node whose parent is a younger one, so that they might be each other's: damage, and no node.
    XCTAssertTrue(fake_node(recording.fake, 0, 4, 5, 0x33, 0, 0))
    recording.round()
    XCTAssertEqual(recording.counts.damaged, 1)
    XCTAssertEqual(recording.ask(LIFESPAN_ASK_STACK, address: 4).error, -Int64(ENOENT))
    let counts = recording.ask(LIFESPAN_ASK_COUNTS).pieces[0]
    XCTAssertEqual(counts.withUnsafeBytes { $0.loadUnaligned(as: lifespan_drain_counts.self).marks }, 1)
  }

  func testMalformedQuestionsAreRefused() throws {
    let recording = try Recording()
    var more = false
    var answer = [UInt64](repeating: 0, count: 8)
    var question = lifespan_question(address: 100, generation: 0, start: 0)
    let length = MemoryLayout<lifespan_question>.size
    func ask(_ op: UInt32, _ length: Int) -> Int64 {
      lifespan_drain_ask(recording.drain, op, &question, length, &answer, 64, &more)
    }
    XCTAssertEqual(ask(99, length), -Int64(EINVAL))
    XCTAssertEqual(ask(LIFESPAN_ASK_ROWS.rawValue, length - 1), -Int64(EINVAL))
    XCTAssertEqual(ask(LIFESPAN_ASK_MARK.rawValue, length), -Int64(EINVAL), "a name longer than the question")
  }

  func testAPostedRequestIsAnsweredByTheNextRoundWithAllThatCameBefore() throws {
    let recording = try Recording()
    recording.birth(10, 0x10, size: 8)
    var question = lifespan_question()
    fake_post(recording.fake, LIFESPAN_ASK_ROWS.rawValue, &question, UInt32(MemoryLayout<lifespan_question>.size))
    var row = lifespan_row()
    var status: UInt32 = 9
    var more = true
    XCTAssertEqual(fake_answer(recording.fake, &row, MemoryLayout<lifespan_row>.size, &status, &more), -1)
    recording.round()
    let length = fake_answer(recording.fake, &row, MemoryLayout<lifespan_row>.size, &status, &more)
    XCTAssertEqual(length, Int64(MemoryLayout<lifespan_row>.size))
    XCTAssertEqual(status, 0)
    XCTAssertFalse(more)
    XCTAssertEqual(Tally(row), Tally(1, 8, 1, 8))
  }

  func testAPostedMarkIsSetAndAWrongRequestRefused() throws {
    let recording = try Recording()
    var bytes = [UInt8](repeating: 0, count: MemoryLayout<lifespan_question>.size) + Array("here".utf8)
    bytes[0] = 4
    fake_post(recording.fake, LIFESPAN_ASK_MARK.rawValue, bytes, UInt32(bytes.count))
    recording.round()
    var generation: UInt64 = 77
    var status: UInt32 = 9
    var more = true
    XCTAssertEqual(fake_answer(recording.fake, &generation, 8, &status, &more), 8)
    XCTAssertEqual(generation, 0)
    fake_post(recording.fake, LIFESPAN_ASK_ROWS.rawValue, bytes, UInt32.max)
    recording.round()
    XCTAssertEqual(fake_answer(recording.fake, &generation, 8, &status, &more), 0)
    XCTAssertEqual(status, UInt32(EINVAL))
    XCTAssertEqual(try recording.finished().marks.map(\.name), ["here"])
  }
}
