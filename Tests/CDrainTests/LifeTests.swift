// What records do to objects: births, deaths, kept memory, moves, and the repair of stamps that stand the wrong way round.
import CDrain
import CDrainTestSupport
import CTraceFormat
import LifespanTrace
import XCTest

final class LifeTests: XCTestCase {
  func testABirthAndADeathMakeOneObjectOfItsTypeSizeAndStack() throws {
    let recording = try Recording()
    recording.type(3, "App.Leaf")
    XCTAssertTrue(fake_node(recording.fake, 0, 2, 0, 0x401000, 1, 0))
    recording.birth(100, 0x7000, type: 3, stack: 2, size: 48)
    XCTAssertTrue(fake_event_with_stack(recording.fake, 0, LIFESPAN_R_DEATH.rawValue, 250, 0x7000, 2))
    XCTAssertEqual(recording.round(), 2)
    let trace = try recording.finished()
    let events = try trace.allEvents()
    XCTAssertEqual(words(events), ["birth 1", "death 1"])
    XCTAssertEqual(events.map(\.time.rawValue), [100, 250])
    XCTAssertEqual(events.map { $0.address?.rawValue }, [0x7000, 0x7000])
    XCTAssertEqual(events[1].stack, StackID(2))
    XCTAssertEqual(trace.sites, [SiteRecord(type: TypeID(3), stack: StackID(2), size: ByteCount(48))])
    XCTAssertEqual(trace.types.map(\.name), ["App.Leaf"])
    XCTAssertEqual(trace.end?["deaths"], 1)
  }

  func testDeinitEndsTheCountAndFreeEndsTheBytes() throws {
    let recording = try Recording()
    recording.birth(1, 0x10, size: 40)
    recording.event(LIFESPAN_R_DEINIT, 2, 0x10)
    recording.round()
    XCTAssertEqual(Tally(recording.rows()[1]), Tally(0, 40, 1, 40))
    recording.event(LIFESPAN_R_DEINIT, 3, 0x10)
    recording.event(LIFESPAN_R_FREE, 4, 0x10)
    recording.round()
    XCTAssertEqual(Tally(recording.rows()[1]), Tally(0, 0, 1, 40))
    XCTAssertEqual(words(try recording.finished().allEvents()), ["birth 1", "deinit 1", "free 1"])
    XCTAssertEqual(recording.counts.deaths, 1)
  }

  func testADeathOfKeptMemoryIsItsFree() throws {
    let recording = try Recording()
    recording.birth(1, 0x10)
    recording.event(LIFESPAN_R_DEINIT, 2, 0x10)
    recording.death(3, 0x10)
    XCTAssertEqual(words(try recording.finished().allEvents()), ["birth 1", "deinit 1", "free 1"])
    XCTAssertEqual(recording.counts.deaths, 1)
  }

  func testFreeOfALivingObjectIsItsDeath() throws {
    let recording = try Recording()
    recording.birth(1, 0x10)
    recording.event(LIFESPAN_R_FREE, 2, 0x10)
    XCTAssertEqual(words(try recording.finished().allEvents()), ["birth 1", "plain free 1"])
    XCTAssertEqual(recording.counts.living, 0)
  }

  func testEventsOfUnknownAddressesAreWrittenNowhere() throws {
    let recording = try Recording()
    for kind in [
      LIFESPAN_R_DEATH, LIFESPAN_R_DEINIT, LIFESPAN_R_FREE, LIFESPAN_R_DEINIT_START, LIFESPAN_R_MOVING,
      LIFESPAN_R_MOVE_FAILED,
    ] { recording.event(kind, 5, 0x30) }
    XCTAssertTrue(fake_moved(recording.fake, 0, 6, 0x30, 0x50, 8))
    recording.retain(7, 0x30)
    XCTAssertEqual(try recording.finished().allEvents().count, 0)
    XCTAssertEqual(recording.counts.events, 0)
    XCTAssertEqual(recording.counts.damaged, 0)
    XCTAssertEqual(recording.counts.unattached, 1)
  }

  func testABirthOfAnUnknownTypeIsCountedAndNamedWhenItsRecordComes() throws {
    let recording = try Recording()
    recording.birth(1, 0x10, type: 9)
    recording.round()
    XCTAssertEqual(recording.rows()[9]?.living_count, 1)
    XCTAssertEqual(recording.counts.damaged, 0)
    recording.type(9, "App.Late")
    XCTAssertEqual(try recording.finished().types.map(\.name), ["App.Late"])
  }

  func testABirthJustBeforeADeathOfTheSameAddressIsSwappedWithIt() throws {
    for laterRound in [false, true] {
      let recording = try Recording(rings: 2)
      recording.birth(100, 0x10)
      recording.birth(2000, 0x10, ring: 1)
      recording.retain(2001, 0x10, ring: 1)
      if laterRound { recording.round() }
      recording.death(2400, 0x10)
      recording.round()
      let events = try recording.finished().allEvents()
      XCTAssertEqual(words(events), ["birth 1", "death 1", "birth 2", "retain 2"], "\(laterRound)")
      XCTAssertEqual(events.map(\.time.rawValue), [100, 2400, 2000, 2001])
      XCTAssertEqual(recording.counts.swapped, 1)
      XCTAssertEqual(recording.counts.ends_not_seen, 0)
      XCTAssertEqual(recording.counts.living, 1)
    }
  }

  func testALateDeathJustBeforeABirthIsSwappedWithIt() throws {
    let recording = try Recording(rings: 2)
    recording.birth(100, 0x10)
    recording.birth(3000, 0x10, ring: 1)
    recording.round()
    recording.death(2500, 0x10)
    recording.round()
    XCTAssertEqual(words(try recording.finished().allEvents()), ["birth 1", "death 1", "birth 2"])
    XCTAssertEqual(recording.counts.swapped, 1)
  }

  func testABirthOnALivingAddressWithoutADeathEndsTheOldObject() throws {
    let recording = try Recording()
    recording.birth(100, 0x10, size: 16)
    recording.birth(5000, 0x10, size: 24)
    recording.event(LIFESPAN_R_RECORDING, 7000, 1)
    recording.round()
    XCTAssertEqual(Tally(recording.rows()[1]), Tally(1, 24, 2, 40))
    let trace = try recording.finished()
    XCTAssertEqual(words(try trace.allEvents()), ["birth 1", "end not seen 1", "birth 2"])
    XCTAssertEqual(trace.end?["ends_not_seen"], 1)
  }

  func testADeathMoreThanAMicrosecondAfterIsOfTheNewObject() throws {
    let recording = try Recording()
    recording.birth(100, 0x10)
    recording.birth(5000, 0x10)
    recording.death(6001, 0x10)
    XCTAssertEqual(words(try recording.finished().allEvents()), ["birth 1", "end not seen 1", "birth 2", "death 2"])
    XCTAssertEqual(recording.counts.swapped, 0)
  }

  func testAWaitingBirthIsPlacedAfterTheNextRoundAtTheLatest() throws {
    let recording = try Recording()
    recording.birth(100, 0x10)
    recording.birth(5000, 0x10)
    recording.round()
    XCTAssertEqual(recording.counts.births, 1)
    recording.round()
    XCTAssertEqual(recording.counts.births, 2)
    XCTAssertEqual(recording.counts.ends_not_seen, 1)
  }

  func testALateDeathOfAnEndedObjectLeavesTheNewOneAlone() throws {
    let recording = try Recording(rings: 2)
    recording.birth(100, 0x10)
    recording.birth(9000, 0x10)
    recording.event(LIFESPAN_R_RECORDING, 20_000, 1)
    recording.round()
    recording.death(7000, 0x10, ring: 1)
    recording.round()
    XCTAssertEqual(recording.counts.living, 1)
    XCTAssertEqual(words(try recording.finished().allEvents()), ["birth 1", "end not seen 1", "birth 2"])
  }

  func testABirthOverKeptMemoryMeansThatItWasFreedUnseen() throws {
    let recording = try Recording()
    recording.birth(100, 0x10, size: 16)
    recording.event(LIFESPAN_R_DEINIT, 200, 0x10)
    recording.birth(5000, 0x10, size: 24)
    recording.event(LIFESPAN_R_RECORDING, 7000, 1)
    recording.round()
    XCTAssertEqual(Tally(recording.rows()[1]), Tally(1, 24, 2, 40))
    XCTAssertEqual(words(try recording.finished().allEvents()), ["birth 1", "deinit 1", "free 1", "birth 2"])
    XCTAssertEqual(recording.counts.ends_not_seen, 0)
  }

  func testManyWaitingBirthsAreAllPlaced() throws {
    let recording = try Recording()
    for i in 0..<200 { recording.birth(Int64(i), 0x1000 + UInt64(i) * 16) }
    for i in 0..<200 { recording.birth(Int64(300 + i), 0x1000 + UInt64(i) * 16) }
    _ = try recording.finished()
    XCTAssertEqual(recording.counts.births, 400)
    XCTAssertEqual(recording.counts.ends_not_seen, 200)
    XCTAssertEqual(recording.counts.living, 200)
  }

  func testAnObjectMovesWithItsSerial() throws {
    let recording = try Recording()
    recording.birth(10, 0x1000, size: 32)
    recording.event(LIFESPAN_R_MOVING, 20, 0x1000)
    XCTAssertTrue(fake_moved(recording.fake, 0, 30, 0x1000, 0x2000, 64))
    recording.retain(40, 0x2000)
    recording.round()
    XCTAssertEqual(Tally(recording.rows()[1]), Tally(1, 64, 1, 64))
    recording.death(50, 0x1000)
    recording.death(60, 0x2000)
    let trace = try recording.finished()
    let events = try trace.allEvents()
    XCTAssertEqual(words(events), ["birth 1", "moved 1", "retain 1", "death 1"])
    XCTAssertEqual(events.map { $0.address?.rawValue }, [0x1000, 0x2000, 0x2000, 0x2000])
    XCTAssertEqual(trace.sites[Int(try XCTUnwrap(events[1].site).rawValue)].size, ByteCount(64))
    XCTAssertEqual(try trace.tallies()[1], Tally(0, 0, 1, 64))
  }

  func testAResizeInPlaceChangesTheSizeAlone() throws {
    let recording = try Recording()
    recording.birth(10, 0x1000, size: 32)
    recording.event(LIFESPAN_R_MOVING, 20, 0x1000)
    XCTAssertTrue(fake_moved(recording.fake, 0, 30, 0x1000, 0x1000, 16))
    recording.birth(40, 0x3000, size: 8)
    recording.event(LIFESPAN_R_MOVING, 50, 0x3000)
    recording.event(LIFESPAN_R_MOVE_FAILED, 60, 0x3000)
    recording.round()
    XCTAssertEqual(Tally(recording.rows()[1]), Tally(2, 24, 2, 24))
  }

  func testABirthAtTheOldAddressOfAMovingObjectDoesNotEndIt() throws {
    let recording = try Recording(rings: 2)
    recording.birth(10, 0x1000, size: 32)
    recording.event(LIFESPAN_R_MOVING, 2000, 0x1000)
    recording.birth(9000, 0x1000, size: 8, ring: 1)
    recording.death(19_000, 0x1000, ring: 1)
    recording.birth(29_000, 0x1000, size: 4, ring: 1)
    XCTAssertTrue(fake_moved(recording.fake, 0, 90_000, 0x1000, 0x2000, 64))
    recording.round()
    XCTAssertEqual(Tally(recording.rows()[1]), Tally(2, 68, 3, 76))
    let trace = try recording.finished()
    XCTAssertEqual(words(try trace.allEvents()), ["birth 1", "birth 2", "death 2", "birth 3", "moved 1"])
    XCTAssertEqual(recording.counts.ends_not_seen, 0)
  }

  func testAnObjectThatClaimsItsTakenAddressBackEndsTheOneThere() throws {
    let recording = try Recording()
    recording.birth(10, 0x1000)
    recording.event(LIFESPAN_R_MOVING, 2000, 0x1000)
    recording.birth(9000, 0x1000)
    XCTAssertTrue(fake_moved(recording.fake, 0, 20_000, 0x1000, 0x1000, 64))
    recording.birth(40_000, 0x1000)
    recording.event(LIFESPAN_R_RECORDING, 60_000, 1)
    recording.round()
    XCTAssertEqual(recording.counts.living, 1)
    XCTAssertEqual(
      words(try recording.finished().allEvents()),
      ["birth 1", "birth 2", "end not seen 2", "moved 1", "end not seen 1", "birth 3"])
  }

  func testARefcountEventOutsideOfAnyLifetimeGoesToTheNearest() throws {
    let recording = try Recording()
    recording.retain(9500, 0x10)
    recording.birth(10_000, 0x10)
    recording.death(20_000, 0x10)
    recording.release(20_900, 0x10)
    recording.retain(40_000, 0x10)
    recording.retain(59_000, 0x10)
    recording.birth(59_800, 0x10)
    recording.death(60_000, 0x10)
    recording.retain(60_100, 0x10)
    recording.retain(60_900, 0x10)
    recording.birth(61_000, 0x10)
    let trace = try recording.finished()
    XCTAssertEqual(
      words(try trace.allEvents()),
      [
        "birth 1", "retain 1", "death 1", "release 1", "birth 2", "retain 2", "death 2", "birth 3", "retain 2",
        "retain 3",
      ])
    XCTAssertEqual(trace.end?["unattached"], 1)
  }

  func testRefcountsKeepAmountFlavourCountAndStack() throws {
    let recording = try Recording()
    recording.birth(1, 0x10)
    XCTAssertTrue(fake_refcount(recording.fake, 0, LIFESPAN_R_RETAIN.rawValue, 2, 0x10, 3, 7, 1, 5))
    XCTAssertTrue(
      fake_refcount(recording.fake, 0, LIFESPAN_R_RELEASE.rawValue, 3, 0x10, 1, 0, 0, 0x00ff_ffff_ffff_ffff))
    recording.event(LIFESPAN_R_DEINIT_START, 4, 0x10)
    let events = try recording.finished().allEvents()
    XCTAssertEqual(words(events), ["birth 1", "retain 1", "release 1", "deinit begins 1"])
    XCTAssertEqual(events[1].amount, EventAmount(flavour: 1, amount: 3, countBefore: 5))
    XCTAssertEqual(events[1].stack, StackID(7))
    XCTAssertNil(events[2].amount)
  }

  func testWhatIsDoneToAnObjectThatIsOverIsItsOwn() throws {
    func misuse(_ what: lifespan_misuse, _ stamp: Int64, _ address: UInt64, left: UInt64 = 0) {
      XCTAssertTrue(
        fake_refcount(recording.fake, 0, LIFESPAN_R_MISUSE.rawValue, stamp, address, what.rawValue, 7, 0, left))
    }
    let recording = try Recording()
    recording.birth(1, 0x10)
    recording.birth(2, 0x20)
    misuse(LIFESPAN_MISUSE_ESCAPED, 3, 0x10, left: 2)
    recording.death(4, 0x10)
    recording.event(LIFESPAN_R_DEINIT, 5, 0x20)
    misuse(LIFESPAN_MISUSE_UNOWNED, 6, 0x20)
    misuse(LIFESPAN_MISUSE_RELEASE, 7, 0x10)
    misuse(LIFESPAN_MISUSE_RETAIN, 8, 0x9990)  // nobody knows what that was
    recording.round()
    XCTAssertEqual(recording.counts.misuses, 4)
    let trace = try recording.finished()
    let events = try trace.allEvents()
    XCTAssertEqual(
      words(events), ["birth 1", "birth 2", "misuse 1", "death 1", "deinit 2", "misuse 2", "misuse 1"])
    XCTAssertEqual(events[2].amount, EventAmount(flavour: 4, amount: 0, countBefore: 2))
    XCTAssertEqual(events[6].amount?.flavour, 2)
    XCTAssertEqual(events[6].stack, StackID(7))
    XCTAssertEqual(trace.end?["misuses"], 4)
  }

  func testTheTableHoldsManyObjectsInAnyOrderOfDying() throws {
    let recording = try Recording(log2: 16)
    var generator = SplitMix(seed: 3)
    var living: Set<UInt64> = []
    var order: [UInt64] = []
    for step in 0..<120_000 {
      // Addresses of few bits, so that their places in the table collide.
      let address = 0x1000 + generator.next() % 60_000 * 16
      if living.insert(address).inserted {
        recording.birth(Int64(step) * 2000, address)
        order.append(address)
      } else if let victim = order.indices.randomElement(using: &generator) {
        order.swapAt(victim, order.count - 1)
        let dead = order.removeLast()
        living.remove(dead)
        recording.death(Int64(step) * 2000, dead)
      }
      if step % 20_000 == 0 { recording.round() }
    }
    recording.round()
    XCTAssertEqual(recording.counts.living, UInt64(living.count))
    XCTAssertEqual(recording.counts.ends_not_seen, 0)
    for address in living.sorted() { recording.death(999_000_000, address) }
    recording.round()
    XCTAssertEqual(recording.counts.living, 0)
  }
}
