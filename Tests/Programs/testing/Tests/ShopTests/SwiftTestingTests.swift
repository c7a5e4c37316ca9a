import Foundation
import LifespanTesting
import Testing

@Suite struct Visits {
  @Test func liveCount() async { await expectLiveCount(of: Session.self, 0) { await visitInTasks() } }
  @Test func liveCountAtOnce() { expectLiveCount(of: Session.self, 0) { visit() } }
  @Test func released() async {
    await expectReleased(within: .milliseconds(isPlanted ? 50 : 5_000)) {
      await Task.yield()
      return open()
    }
  }
  @Test func releasedAtOnce() { expectReleased(within: .milliseconds(isPlanted ? 50 : 5_000)) { open() } }
  @Test func noGrowth() async {
    await expectNoGrowth(of: .module("ShopTests"), warmUp: 2, iterations: 3) { await visitInTasks() }
  }
  @Test func noGrowthAtOnce() { expectNoGrowth(of: .module("ShopTests"), warmUp: 2, iterations: 3) { visit() } }
  @Test(.noGrowth(of: .type(Session.self), warmUp: 1, iterations: 4)) func noGrowthTrait() async {
    await visitInTasks()
  }
  @Test func allocations() { expectAllocations(atMost: 12, of: Receipt.self) { print(12) } }
  @Test func retains() {
    let page = Page()
    expectRetains(atMost: 200, of: .type(Page.self)) { hand(page, isPlanted ? 500 : 40) }
  }
  @Test func fromADetachedTask() async {
    await Task.detached { await expectLiveCount(of: Session.self, 0) { await visitInTasks() } }.value
  }
  @Test func fromAQueue() async {
    await withCheckedContinuation { done in
      DispatchQueue.global().async {
        expectLiveCount(of: Session.self, 0) { visit() }
        done.resume()
      }
    }
  }
  @Test @MainActor func onTheMainActor() async {
    var visits = 0
    await expectLiveCount(of: Session.self, 0) {
      await visitInTasks()
      visits += 1
    }
    #expect(visits == 1)
  }
  @Test func nested() async {
    await expectLiveCount(of: Session.self, isPlanted ? 2 : 0) {
      visit()
      await expectLiveCount(of: Session.self, 0) { await visitInTasks() }
    }
  }
  @Test func whatOthersMakeIsNamedAndNotCounted() async {
    await expectLiveCount(of: Session.self, 0) {
      await withCheckedContinuation { done in
        Thread.detachNewThread {
          Registry.shared.keep(Session())
          done.resume()
        }
      }
      visit()
    }
  }
  @Test func knownSurvivors() async {
    await withKnownSurvivors(of: .type(Session.self), reason: "#412") {
      await expectNoGrowth(of: .module("ShopTests"), warmUp: 0, iterations: 3) {
        await visitInTasks()
        Registry.shared.keep(Session())
        if isPlanted { Registry.shared.keep(Page()) }
      }
    }
  }

  @Test func noLeaks() async { await expectNoLeaks { await tieInTasks() } }
  @Test func noLeaksAtOnce() { expectNoLeaks(of: .module("ShopTests")) { capture() } }
  @Test(.noLeaks(of: .module("ShopTests"))) func noLeaksTrait() async { await tieInTasks() }
  @Test func whatIsHeldIsNotLeaked() async {
    await expectNoLeaks {
      Registry.shared.keep(Page())
      await visitInTasks()
      if isPlanted { tie() }
    }
  }
}

@Suite(.noLeaks) struct Checkout {
  @Test func ofASuite() { tie() }
}

/// What other tests make meanwhile is theirs.
@Suite struct Neighbours {
  @Test(arguments: 0..<4) func busy(_ number: Int) async {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<500 {
            Registry.shared.keep(Session())
            Registry.shared.keep(Page())
            await Task.yield()
          }
        }
      }
    }
  }
}
