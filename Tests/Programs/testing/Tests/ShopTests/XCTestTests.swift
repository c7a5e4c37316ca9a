import Foundation
import LifespanTesting
import XCTest

final class VisitTests: XCTestCase {
  func testLiveCount() async { await XCTAssertLiveCount(of: Session.self, 0) { await visitInTasks() } }
  func testLiveCountAtOnce() { XCTAssertLiveCount(of: Session.self, 0) { visit() } }
  func testLiveCountByTheOtherName() { expectLiveCount(of: Session.self, 0) { visit() } }
  func testReleased() async {
    await XCTAssertReleased(within: .milliseconds(isPlanted ? 50 : 5_000)) {
      await Task.yield()
      return open()
    }
  }
  func testReleasedAtOnce() { XCTAssertReleased(within: .milliseconds(isPlanted ? 50 : 5_000)) { open() } }
  func testNoGrowth() async {
    await XCTAssertNoGrowth(of: .module("ShopTests"), warmUp: 2, iterations: 3) { await visitInTasks() }
  }
  func testNoGrowthAtOnce() { XCTAssertNoGrowth(of: .module("ShopTests"), warmUp: 2, iterations: 3) { visit() } }
  func testAllocations() { expectAllocations(atMost: 12, of: Receipt.self) { print(12) } }
  func testRetains() {
    let page = Page()
    expectRetains(atMost: 200, of: .type(Page.self)) { hand(page, isPlanted ? 500 : 40) }
  }
  func testFromADetachedTask() async {
    await Task.detached { await XCTAssertLiveCount(of: Session.self, 0) { await visitInTasks() } }.value
  }
  func testFromAQueue() {
    let done = expectation(description: "done")
    DispatchQueue.global().async {
      XCTAssertLiveCount(of: Session.self, 0) { visit() }
      done.fulfill()
    }
    wait(for: [done], timeout: 300)
  }
  func testTasksOfASynchronousBody() {
    XCTAssertLiveCount(of: Session.self, 0) {
      let done = DispatchSemaphore(value: 0)
      Task {
        await visitInTasks()
        done.signal()
      }
      done.wait()
    }
  }
  func testNoLeaks() async { await XCTAssertNoLeaks { await tieInTasks() } }
  func testNoLeaksAtOnce() { XCTAssertNoLeaks(of: .module("ShopTests")) { capture() } }
  @MainActor func testOnTheMainActor() async {
    var visits = 0
    await XCTAssertLiveCount(of: Session.self, 0) {
      await visitInTasks()
      visits += 1
    }
    XCTAssertEqual(visits, 1)
  }
}
