// Regions: what mmap, munmap and mremap do to those that are there, held against a model that knows each page.
import CDrain
import CDrainTestSupport
import CTraceFormat
import LifespanTrace
import XCTest

private let page: UInt64 = 4096

/// The address space as a list of pages: which mapping each belongs to.
private struct Model {
  /// A run of pages that is one object: its birth, its type.
  struct Owner: Hashable {
    var number: Int
    var type: UInt32
  }
  var pages: [UInt64: Owner] = [:]
  var made = 0

  mutating func map(_ start: UInt64, _ count: UInt64, type: UInt32) {
    clear(start, count)
    guard type != 0 else { return }
    made += 1
    for index in 0..<count { pages[start + index] = Owner(number: made, type: type) }
  }

  mutating func clear(_ start: UInt64, _ count: UInt64) {
    for index in 0..<count { pages[start + index] = nil }
    splitHoles()
  }

  mutating func move(_ from: UInt64, _ count: UInt64, to: UInt64, _ newCount: UInt64) {
    if newCount < count { clear(from + newCount, count - newCount) }
    let kept = min(count, newCount)
    // The parts before and behind are pieces of their own now.
    cut(at: from)
    cut(at: from + kept)
    let now = (0..<kept).map { pages[from + $0] }
    if to != from {
      for index in 0..<kept { pages[from + index] = nil }
      clear(to, newCount)
    } else if newCount > kept {
      clear(from + kept, newCount - kept)
    }
    for index in 0..<newCount { pages[to + index] = index < kept ? now[Int(index)] : now.last ?? nil }
    splitHoles()
  }

  /// A run with the same number on both sides of an address becomes two.
  mutating func cut(at address: UInt64) {
    guard let owner = pages[address], address > 0, pages[address - 1] == owner else { return }
    made += 1
    var at = address
    while pages[at] == owner {
      pages[at]?.number = made
      at += 1
    }
  }

  /// What is not in one run any more is more than one.
  mutating func splitHoles() {
    var seen: Set<Owner> = []
    var last: (address: UInt64, owner: Owner, now: Owner)?
    for (address, owner) in pages.sorted(by: { $0.key < $1.key }) {
      if let run = last, run.address + 1 == address, run.owner == owner {
        pages[address] = run.now
        last = (address, owner, run.now)
        continue
      }
      var now = owner
      if seen.contains(owner) {
        made += 1
        now.number = made
      }
      seen.insert(owner)
      pages[address] = now
      last = (address, owner, now)
    }
  }

  /// Living objects and bytes by type.
  var tallies: [UInt32: [Int64]] {
    var found: [UInt32: [Int64]] = [:]
    for owner in Set(pages.values) {
      let count = Int64(pages.values.filter { $0 == owner }.count)
      let before = found[owner.type] ?? [0, 0]
      found[owner.type] = [before[0] + 1, before[1] + count * Int64(page)]
    }
    return found
  }
}

final class RegionTests: XCTestCase {
  private func start(_ recording: Recording) {
    for id in UInt32(1)...4 {
      XCTAssertTrue(fake_type(recording.fake, 0, id, LIFESPAN_KIND_VM.rawValue, 0, "VM: \(id)"))
    }
    for id in UInt32(2)..<8 { XCTAssertTrue(fake_node(recording.fake, 0, id, 0, 0x4000 + UInt64(id), 0, 0)) }
  }

  private func living(_ recording: Recording) -> [UInt32: [Int64]] {
    recording.rows().mapValues { Tally($0) }.filter { $0.value.living > 0 }
      .mapValues { [$0.living, $0.livingBytes] }
  }

  private func map(_ recording: Recording, _ stamp: Int64, _ start: UInt64, _ count: UInt64, type: UInt32 = 1) {
    XCTAssertTrue(fake_mapped(recording.fake, 0, stamp, start * page, count * page, type, 2))
  }
  private func unmap(_ recording: Recording, _ stamp: Int64, _ start: UInt64, _ count: UInt64, ring: UInt32 = 0) {
    XCTAssertTrue(fake_unmapped(recording.fake, ring, stamp, start * page, count * page, 0))
  }

  func testAHoleMakesTwoOfOneWithTheBirthOfBoth() throws {
    let recording = try Recording()
    start(recording)
    map(recording, 100, 16, 10)
    recording.birth(110, 16 * page, type: 3)  // a block may begin where a region does
    XCTAssertTrue(fake_mark(recording.fake, 0, 150, "closed"))
    unmap(recording, 200, 20, 2)
    let trace = try recording.finished()
    let events = try trace.allEvents()
    XCTAssertEqual(words(events), ["birth 1", "birth 2", "moved 1", "birth 3"])
    XCTAssertEqual(events.map { $0.address?.rawValue }, [16, 16, 16, 22].map { $0 * page })
    XCTAssertEqual(events[3].time.rawValue, 100)
    XCTAssertEqual(events[3].generation, Generation(0))
    let site = trace.sites[Int(try XCTUnwrap(events[3].site).rawValue)]
    XCTAssertEqual(site, SiteRecord(type: TypeID(1), stack: StackID(2), size: ByteCount(Int64(4 * page))))
    XCTAssertEqual(Tally(recording.rows()[1]), Tally(2, Int64(8 * page), 2, Int64(8 * page)))
  }

  func testWhatIsMappedOverAnotherEndsItsPartOfIt() throws {
    let recording = try Recording()
    start(recording)
    map(recording, 1, 16, 4)
    map(recording, 2, 20, 4, type: 2)
    map(recording, 3, 18, 4, type: 3)  // the end of one, the begin of the next
    map(recording, 4, 18, 4, type: 0)  // paused: nothing is born
    recording.round()
    XCTAssertEqual(living(recording), [1: [1, Int64(2 * page)], 2: [1, Int64(2 * page)]])
    XCTAssertEqual(
      words(try recording.finished().allEvents()), ["birth 1", "birth 2", "moved 1", "moved 2", "birth 3", "death 3"])
  }

  func testAnEndThatComesLateTakesNothingThatCameAfterIt() throws {
    let recording = try Recording(rings: 2)
    start(recording)
    map(recording, 1, 16, 4)
    recording.round()
    // Unmapped by one thread at 2, mapped by another at 3, and that one's record comes first.
    map(recording, 3, 16, 4, type: 2)
    recording.round()
    unmap(recording, 2, 16, 4, ring: 1)
    recording.round()
    XCTAssertEqual(living(recording), [2: [1, Int64(4 * page)]])
    XCTAssertEqual(recording.counts.ends_not_seen, 0)
  }

  func testAMoveKeepsTheObjectAndShowsWhereItWasMoved() throws {
    let recording = try Recording()
    start(recording)
    map(recording, 1, 16, 4)
    XCTAssertTrue(
      fake_remapped(
        recording.fake, 0, 2, 3, LIFESPAN_MAPPED_MOVED.rawValue, 16 * page, 4 * page, 64 * page, 9 * page, 0, 5))
    unmap(recording, 4, 16, 4)  // nothing there any more
    XCTAssertTrue(
      fake_remapped(
        recording.fake, 0, 5, 6, LIFESPAN_MAPPED_COPY.rawValue, 65 * page, 0, 80 * page, 3 * page, 4, 6))
    let trace = try recording.finished()
    let events = try trace.allEvents()
    XCTAssertEqual(words(events), ["birth 1", "moved 1", "birth 2"])
    let site = trace.sites[Int(try XCTUnwrap(events[1].site).rawValue)]
    XCTAssertEqual(site, SiteRecord(type: TypeID(1), stack: StackID(5), size: ByteCount(Int64(9 * page))))
    // The copy is of the type of what is copied.
    XCTAssertEqual(trace.sites[Int(try XCTUnwrap(events[2].site).rawValue)].type, TypeID(1))
  }

  func testAMoveIsAnnouncedSoThatItsAddressesMayBeAnothersBeforeItIsTold() throws {
    for newCount in [UInt64(9), 1] {
      let recording = try Recording(rings: 2)
      start(recording)
      map(recording, 1, 14, 9)  // its middle is moved
      XCTAssertTrue(
        fake_remapped(recording.fake, 0, 2, 2, LIFESPAN_MAPPED_MOVING.rawValue, 0, 0, 16 * page, 4 * page, 0, 0))
      recording.round()
      XCTAssertTrue(fake_mapped(recording.fake, 1, 4, 14 * page + 2 * page, 6 * page, 2, 0))
      recording.round()
      XCTAssertTrue(
        fake_remapped(
          recording.fake, 0, 2, 3, LIFESPAN_MAPPED_MOVED.rawValue, 16 * page, 4 * page, 64 * page, newCount * page, 0, 5
        ))
      unmap(recording, 9, 14, 1)
      map(recording, 10, 13, 2)
      recording.round()
      // 13…14 anew, 15 of the first, 16…21 the other's, 22 of the first, and what was moved.
      let ours = Int64((2 + 1 + 1 + newCount) * page)
      XCTAssertEqual(living(recording), [1: [4, ours], 2: [1, Int64(6 * page)]], "\(newCount)")
      XCTAssertEqual(recording.counts.ends_not_seen, 0)
      XCTAssertEqual(try recording.finished().tallies(), recording.rows().mapValues { Tally($0) })
    }
  }

  func testDetachedIsEveryPieceOfTheMapping() throws {
    let recording = try Recording()
    start(recording)
    map(recording, 1, 16, 9)
    map(recording, 2, 18, 2, type: 2)
    map(recording, 3, 40, 1)
    unmap(recording, 4, 16, 0)
    recording.round()
    XCTAssertEqual(living(recording), [1: [1, Int64(page)], 2: [1, Int64(2 * page)]])
  }

  func testDamagedRangesAreNoRegions() throws {
    for (start, bytes) in [
      (UInt64(5), page), (page, UInt64(7)), (page, 1 << 47), ((1 << 47) - page, 2 * page), (page, 0),
    ] {
      let recording = try Recording()
      XCTAssertTrue(fake_mapped(recording.fake, 0, 1, start, bytes, 1, 0))
      recording.round()
      XCTAssertEqual(recording.counts.damaged, 1, "\(start) \(bytes)")
      XCTAssertEqual(recording.counts.births, 0)
    }
  }

  /// A thousand calls at random, whole and with a trace that follows what lives: the same pages as the model's, and a
  /// reader counts what the tables say.
  func testEveryOrderOfCallsLeavesThePagesThatTheModelHas() throws {
    for (seed, keeps) in [(UInt64(1), false), (2, true), (3, false), (4, true)] {
      let bounded = keeps ? try BoundedRecording(keeps: true, rings: 1, budget: 60_000) : nil
      let recording = try bounded?.recording ?? Recording(log2: 14)
      start(recording)
      var random = SplitMix(seed: seed)
      func number(_ limit: UInt64) -> UInt64 { random.next() % limit }
      var model = Model()
      var stamp: Int64 = 1000
      for step in 0..<1200 {
        stamp += 10
        let (at, count, to) = (16 + number(60), 1 + number(9), 16 + number(60))
        switch number(7) {
        case 0...2:
          let type = UInt32(number(5))
          map(recording, stamp, at, count, type: type)
          model.map(at, count, type: type)
        case 3...4:
          unmap(recording, stamp, at, count)
          model.clear(at, count)
        default:
          let newCount = 1 + number(9)
          let target = number(3) == 0 ? at : to + 100
          // As the kernel has it: all of the old pages are there.
          guard (0..<count).allSatisfy({ model.pages[at + $0] != nil }) else { continue }
          XCTAssertTrue(
            fake_remapped(
              recording.fake, 0, stamp, stamp + 1, LIFESPAN_MAPPED_MOVED.rawValue, at * page, count * page,
              target * page, newCount * page, 0, 3))
          model.move(at, count, to: target, newCount)
        }
        if step % 50 == 0 { XCTAssertTrue(fake_mark(recording.fake, 0, stamp + 5, "m\(step)")) }
        recording.round()
        XCTAssertEqual(living(recording), model.tallies, "seed \(seed), step \(step)")
        if living(recording) != model.tallies { return }
      }
      let expected = recording.rows().mapValues { Tally($0) }
      XCTAssertEqual(
        try recording.finished().tallies().filter { $0.value.total > 0 }, expected.filter { $0.value.total > 0 })
      if let bounded { XCTAssertGreaterThan(bounded.renewals, 1) }
    }
  }
}
