// Counts of living objects against what the test itself holds.
import Foundation
import Lifespan
import XCTest

final class LiveCountTests: RecordedTestCase {
  class Base: TrackedObject {}
  class Middle: Base {}
  final class Last: Middle { var value = 1 }
  final class Shared: Tracked, Sendable {}
  actor Account: Tracked { var balance = 0 }
  final class Crate<Content>: Tracked {
    let content: Content
    init(_ content: Content) { self.content = content }
  }
  final class Buffer: ManagedBuffer<Int, UInt8>, Tracked {}
  final class Cocoa: NSObject, Tracked { var value = 1 }
  final class Plain { var value = 1 }
  final class NeverMade: Tracked {}
  private final class Hidden { var value = 1 }
  final class PageCache { var value = 1 }
  private final class HiddenCache { var value = 1 }
  class Open { var value = 1 }
  final class OpenCache: Open {}
  final class Kept { var value = 1 }
  final class Keeper {
    unowned let kept: Kept
    init(_ kept: Kept) { self.kept = kept }
  }

  func testSubclassesCountWithTheirSuperclasses() throws {
    var objects: [Base] = [Base(), Middle(), Middle(), Last(), Last(), Last()]
    XCTAssertEqual(try Allocations.liveCount(of: Base.self), 6)
    XCTAssertEqual(try Allocations.liveCount(of: Middle.self), 5)
    XCTAssertEqual(try Allocations.liveCount(of: Last.self), 3)
    objects.removeLast(2)
    XCTAssertEqual(try Allocations.liveCount(of: Base.self), 4)
    XCTAssertEqual(try Allocations.liveCount(of: Last.self), 1)
    objects.removeAll()
    XCTAssertEqual(try Allocations.liveCount(of: Base.self), 0)
  }

  func testEverythingThatCanBeTrackedIsCounted() throws {
    let shared = (0..<3).map { _ in Shared() }
    let accounts = (0..<4).map { _ in Account() }
    let crates: [AnyObject] = [Crate(1), Crate(2), Crate("text")]
    let buffers = (1...5).map { Buffer.create(minimumCapacity: $0) { $0.capacity } }
    let cocoa = (0..<6).map { _ in Cocoa() }
    let plain = (0..<7).map { _ in Plain() }
    XCTAssertEqual(try Allocations.liveCount(of: Shared.self), 3)
    XCTAssertEqual(try Allocations.liveCount(of: Account.self), 4)
    XCTAssertEqual(try Allocations.liveCount(of: Crate<Int>.self), 2)
    XCTAssertEqual(try Allocations.liveCount(of: Crate<String>.self), 1)
    XCTAssertEqual(try Allocations.liveCount(of: Buffer.self), 5)
    XCTAssertEqual(try Allocations.liveCount(of: Cocoa.self), 6)
    XCTAssertEqual(try Allocations.liveCount(of: Plain.self), 7)
    XCTAssertEqual(try Allocations.liveCount(of: NeverMade.self), 0)
    withExtendedLifetime((shared, accounts, crates, buffers, cocoa, plain)) {}
  }

  func testATypeThatARuleLeavesOutHasNoCount() {
    let pages = [PageCache(), PageCache()]
    XCTAssertEqual(
      reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: PageCache.self) },
      .leftOut(type: "LifespanTests.LiveCountTests.PageCache"))
    withExtendedLifetime(pages) {}
  }

  func testAnErrorNamesAPrivateOrALocalTypeByItsPlainName() {
    final class LocalCache { var value = 1 }
    let types: [(type: AnyClass, name: String)] = [(HiddenCache.self, "HiddenCache"), (LocalCache.self, "LocalCache")]
    for each in types {
      let why = reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: each.type) }
      XCTAssertEqual(why, .leftOut(type: "LifespanTests.LiveCountTests.\(each.name)"))
    }
  }

  func testASuperclassHasNoCountWhereOneOfItsSubclassesIsLeftOut() {
    let objects = [Open(), OpenCache()]
    XCTAssertEqual(
      reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: Open.self) },
      .leftOut(type: "LifespanTests.LiveCountTests.OpenCache"))
    withExtendedLifetime(objects) {}
  }

  func testAPrivateTypeHasItsPlainName() throws {
    let objects = (0..<3).map { _ in Hidden() }
    XCTAssertEqual(try Allocations.liveCount(of: Hidden.self), 3)
    let row = try XCTUnwrap(row("LifespanTests.LiveCountTests.Hidden"))
    XCTAssertEqual(row.persistentCount, 3)
    XCTAssertEqual(row.kind, .class)
    XCTAssertEqual(row.module, "LifespanTests")
    withExtendedLifetime(objects) {}
  }

  func testCountsFollowTheDeinitAndBytesTheMemory() throws {
    var kept: Kept? = made { Kept() }
    var keeper: Keeper? = kept.map { Keeper($0) }
    kept = nil
    let name = "LifespanTests.LiveCountTests.Kept"
    XCTAssertEqual(try Allocations.liveCount(of: Kept.self), 0)
    XCTAssertEqual(try row(name)?.persistentBytes, 24, "an unowned reference keeps the memory")
    keeper = nil
    XCTAssertEqual(try row(name)?.persistentBytes, 0)
    XCTAssertEqual(try row(name)?.totalCount, 1)
    withExtendedLifetime(keeper) {}
  }

  func testThreadsThatHandObjectsOnAreCountedExactly() throws {
    final class Handed: Tracked, @unchecked Sendable { var value = 1 }
    let lock = NSLock()
    nonisolated(unsafe) var shelf: [Handed] = []
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      for _ in 0..<30_000 {
        lock.withLock {
          shelf.append(Handed())
          if shelf.count > 100 { shelf.removeFirst(50) }
        }
      }
    }
    XCTAssertEqual(try Allocations.liveCount(of: Handed.self), shelf.count)
    let row = try XCTUnwrap(row("LifespanTests.LiveCountTests.Handed"))
    XCTAssertEqual(row.totalCount, 120_000)
    XCTAssertEqual(row.transientCount, 120_000 - shelf.count)
  }

  func testQuestionsMayBeAskedWhileThreadsFillTheirRings() throws {
    final class Busy: Tracked { var value = 1 }
    let done = DispatchGroup()
    for _ in 0..<3 {
      DispatchQueue.global().async(group: done) {
        for _ in 0..<40_000 { _ = made { Busy() } }
      }
    }
    var asked = 0
    while done.wait(timeout: .now()) == .timedOut {
      XCTAssertLessThanOrEqual(try Allocations.liveCount(of: Busy.self), 3)
      asked += 1
    }
    XCTAssertGreaterThan(asked, 0)
    XCTAssertEqual(try row("LifespanTests.LiveCountTests.Busy")?.totalCount, 120_000)
    XCTAssertEqual(try Allocations.liveCount(of: Busy.self), 0)
  }
}
