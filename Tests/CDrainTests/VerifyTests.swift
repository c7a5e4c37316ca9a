// The self-check of reference counts: what was recorded against words of memory, as the runtime would have them.
import CDrain
import CDrainTestSupport
import CTraceFormat
import XCTest

/// Memory of a program that isn't there: two words at each address.
private final class Memory {
  var words: [UInt64: (UInt64, UInt64)] = [:]
  var reads = 0

  static let read: lifespan_word_reader = { context, addresses, count, into in
    guard let context, let addresses, let into else { return 0 }
    let memory = Unmanaged<Memory>.fromOpaque(context).takeUnretainedValue()
    memory.reads += 1
    for index in 0..<count {
      guard let pair = memory.words[addresses[index]] else { return index }
      (into[2 * index], into[2 * index + 1]) = pair
    }
    return count
  }
}

private struct Found: Equatable {
  var serial: UInt64
  var recorded: Int64
  var actual: Int64
}

final class VerifyTests: XCTestCase {
  /// A count word of an object's header: references beside the first, and whether its deinit has begun.
  private func inline(_ extra: UInt64, deiniting: Bool = false) -> UInt64 {
    extra << 33 | (deiniting ? 1 << 32 : 0) | 3
  }

  private func check(
    _ recording: Recording, _ memory: Memory
  ) -> (check: lifespan_count_check, found: [Found]) {
    var check = lifespan_count_check()
    var found: [Found] = []
    let status = withUnsafeMutablePointer(to: &found) { found in
      lifespan_drain_verify(
        recording.drain, Memory.read, Unmanaged.passUnretained(memory).toOpaque(),
        { context, difference in
          guard let difference = difference?.pointee else { return }
          context?.assumingMemoryBound(to: [Found].self).pointee.append(
            Found(serial: difference.serial, recorded: difference.recorded, actual: difference.actual))
        }, found, &check)
    }
    XCTAssertEqual(status, 0)
    return (check, found)
  }

  func testCountsInHeadersAndSideTablesAreCompared() throws {
    let recording = try Recording(log2: 13)
    recording.type()
    let memory = Memory()
    // More than fit into one batch, every third one in a side table.
    for number in 1...1000 as ClosedRange<UInt64> {
      let address = number * 64
      recording.birth(Int64(number), address)
      let extra = number % 5
      for _ in 0..<extra { recording.retain(Int64(number), address) }
      if number % 3 == 0 {
        let table = 0x100_0000 + number * 64
        memory.words[address] = (7, 1 << 63 | table >> 3)
        memory.words[table + 16] = (inline(extra), 0)
      } else {
        memory.words[address] = (7, inline(extra))
      }
    }
    recording.round()
    let (result, found) = check(recording, memory)
    XCTAssertEqual(found, [])
    XCTAssertEqual([result.checked, result.exact, result.uncounted], [1000, 1000, 0])
  }

  func testEveryDifferenceIsNamedWithBothCounts() throws {
    let recording = try Recording()
    recording.type()
    let memory = Memory()
    for number in 1...5 as ClosedRange<UInt64> {
      recording.birth(Int64(number), number * 64)
      memory.words[number * 64] = (7, inline(0))
    }
    recording.retain(10, 64)  // 1: never really happened
    memory.words[128] = (7, inline(4))  // 2: four that nobody recorded
    recording.release(11, 192)  // 3: its deinit runs
    memory.words[192] = (7, inline(0, deiniting: true))
    memory.words[256] = nil  // 4: not to be read
    memory.words[320] = (7, 1 << 63 | 0x9000 >> 3)  // 5: nor its side table
    recording.round()
    let (result, found) = check(recording, memory)
    XCTAssertEqual(
      Set(found.map(\.serial)), [1, 2, 4, 5])
    XCTAssertEqual(found.first { $0.serial == 1 }, Found(serial: 1, recorded: 2, actual: 1))
    XCTAssertEqual(found.first { $0.serial == 2 }, Found(serial: 2, recorded: 1, actual: 5))
    XCTAssertEqual(found.first { $0.serial == 4 }?.actual, -1)
    XCTAssertEqual(found.first { $0.serial == 5 }?.actual, -1)
    XCTAssertEqual([result.checked, result.exact], [5, 1])
  }

  func testWhatTheRuntimeDoesNotCountIsLeftOut() throws {
    let recording = try Recording()
    recording.type()
    XCTAssertTrue(fake_type(recording.fake, 0, 2, LIFESPAN_KIND_MALLOC.rawValue, 0, "malloc 32 B"))
    let memory = Memory()
    recording.birth(1, 0x40)
    memory.words[0x40] = (7, 0x8000_0004_ffff_ffff)  // immortal
    recording.birth(2, 0x80, type: 2)  // no object
    recording.birth(3, UInt64(LIFESPAN_TOKEN_ADDRESS) | 5)  // no memory
    recording.birth(4, 0xc0)
    recording.event(LIFESPAN_R_DEINIT, 5, 0xc0)  // kept by unowned references
    recording.birth(6, 0x100)
    memory.words[0x100] = (7, inline(0))
    recording.round()
    let (result, found) = check(recording, memory)
    XCTAssertEqual(found, [])
    XCTAssertEqual([result.checked, result.exact, result.uncounted], [1, 1, 1])
  }

  func testAProgramThatEndsWaitsForTheComparison() throws {
    let recording = try Recording()
    XCTAssertFalse(lifespan_drain_verify_wanted(recording.drain))
    fake_wants_to_end(recording.fake, true)
    recording.round()
    XCTAssertTrue(lifespan_drain_verify_wanted(recording.drain))
    XCTAssertFalse(fake_may_end(recording.fake))
    lifespan_drain_verify_done(recording.drain)
    XCTAssertFalse(lifespan_drain_verify_wanted(recording.drain))
    recording.round()
    XCTAssertTrue(fake_may_end(recording.fake))
  }
}
