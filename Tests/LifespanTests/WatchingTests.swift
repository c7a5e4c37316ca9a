// Watching: what is told of objects that outlive their time. Every test waits for what it expects; nothing depends on how fast that comes.
import Foundation
import XCTest

@testable import Lifespan

final class WatchingTests: RecordedTestCase {
  private let found = Findings()

  override func setUpWithError() throws {
    try super.setUpWithError()
    Allocations.handleFindings(.callback { [found] in found.add($0) })
  }

  override func tearDown() { Allocations.handleFindings(.log) }

  final class Page { var value = 1 }

  func testAnObjectThatLivesIsToldWithItsReasonItsStackAndItsReferencesAndWithdrawnWhenItDies() {
    var page: Page? = made { Page() }
    expect(page, "closed")
    let survivor = found.survivor { $0.reason == "closed" }
    XCTAssertEqual(survivor.type, "LifespanTests.WatchingTests.Page")
    XCTAssertEqual(survivor.ownerPath, [survivor.type])
    XCTAssertNotNil(survivor.serial)
    XCTAssertFalse(survivor.allocatedBy.isEmpty)
    XCTAssertEqual(survivor.others, [:])
    XCTAssertTrue(
      survivor.description.hasPrefix(
        "LifespanTests.WatchingTests.Page \(survivor.serial.map(\.description) ?? "-") lives 5 ms after “closed”, "
          + "by when it should have been released; allocated by "), survivor.description)
    page = nil
    found.wait("withdrawn") {
      if case .withdrawn(let other, let late) = $0 {
        other.serial == survivor.serial && late.upperBound > .zero
      } else {
        false
      }
    }
  }

  func testAnObjectThatDiesInTimeIsNotTold() {
    for _ in 0..<100 { expect(made { Page() }, "at once") }
    let kept = made { Page() }
    expect(kept, "kept")
    _ = found.survivor { $0.reason == "kept" }
    XCTAssertEqual(found.survivors.filter { $0.reason == "at once" }.count, 0)
    withExtendedLifetime(kept) {}
  }

  final class Timer { var value = 1 }
  final class Logger { var value = 1 }
  class Owner {
    let logger: Logger
    let timer = Timer()
    init(_ logger: Logger) { self.logger = logger }
  }
  final class Window: Owner {
    var page: Page? = Page()
    let pages = [Page(), Page(), Page()]
    weak var parent: Window?
    let any: any AnyObject = Timer()
  }

  func testWhatAnObjectHoldsIsExpectedToDieWithItButNotWhatIsOlderAndShared() {
    let logger = Logger()
    var window: Window? = Window(logger)
    window?.parent = window
    let kept: [AnyObject?] = [window?.timer, window?.page, window?.pages[1], window?.any]
    expect(window, "window closed")
    window = nil
    let paths = (0..<4).map { _ in found.nextSurvivor("window closed").ownerPath.dropFirst().joined(separator: ".") }
    XCTAssertEqual(paths.sorted(), ["any", "page", "pages[1]", "timer"])
    XCTAssertEqual(found.survivors.filter { $0.reason == "window closed" }.count, 4)
    withExtendedLifetime((logger, kept)) {}
  }

  func testAChildThatOnlyItsOwnerHeldIsToldWithThePathToIt() {
    let logger = Logger()
    var window: Window? = Window(logger)
    expect(window, "child")
    let timer = window?.timer
    window = nil
    let survivor = found.nextSurvivor("child")
    XCTAssertEqual(survivor.type, "LifespanTests.WatchingTests.Timer")
    XCTAssertEqual(survivor.ownerPath, ["LifespanTests.WatchingTests.Window", "timer"])
    XCTAssertTrue(
      survivor.description.hasPrefix("LifespanTests.WatchingTests.Window.timer, a LifespanTests.WatchingTests.Timer,"))
    withExtendedLifetime((logger, timer)) {}
  }

  func testOfAFamilyTheTopmostIsToldAndTheOthersAreCounted() {
    let window = Window(Logger())
    expect(window.timer, "timer")
    expect(window.pages[0], "page")
    expect(window, "window")
    let survivor = found.survivor { $0.reason == "window" }
    XCTAssertEqual(survivor.others["LifespanTests.WatchingTests.Timer"], 2)
    XCTAssertEqual(survivor.others["LifespanTests.WatchingTests.Page"], 4)
    let last = made { Page() }
    expect(last, "last")
    _ = found.survivor { $0.reason == "last" }
    XCTAssertEqual(found.survivors.map(\.reason).filter { $0 == "window" || $0 == "last" }, ["window", "last"])
    withExtendedLifetime((window, last)) {}
  }

  final class Knot { let other: Knot?; var back: Knot?; init(_ other: Knot?) { self.other = other } }

  func testARingIsToldOnce() {
    let first = Knot(nil)
    let second = Knot(first)
    first.back = second
    Allocations.expectRelease(of: first, within: .milliseconds(5), reason: "first")
    Allocations.expectRelease(of: second, within: .milliseconds(5), reason: "second")
    _ = found.survivor { ["first", "second"].contains($0.reason) }
    let last = made { Page() }
    expect(last, "last")
    _ = found.survivor { $0.reason == "last" }
    XCTAssertLessThanOrEqual(found.survivors.filter { ["first", "second"].contains($0.reason) }.count, 2)
    first.back = nil
    withExtendedLifetime((second, last)) {}
  }

  final class Cell {}
  final class Table: ManagedLifetime {
    unowned let cell: Cell
    init(_ cell: Cell) { self.cell = cell }
    var objectsExpectedToDieWithThis: [AnyObject] { [cell] }
  }

  func testAFrameworkNamesWhatMustDieWithAnObject() {
    let cell = Cell()
    var table: Table? = Table(cell)
    expect(table, "table")
    table = nil
    XCTAssertEqual(found.nextSurvivor("table").ownerPath, ["LifespanTests.WatchingTests.Table", "Cell"])
    withExtendedLifetime(cell) {}
  }

  class Shared {}
  final class SharedMore: Shared {}
  final class Allowed {}
  final class Single {}

  func testWhatMayLiveIsCountedUnderItsReasonAndNotTold() {
    Allocations.expectedToLive(Shared.self, reason: "shared")
    Allocations.expectedToLive(matching: "*WatchingTests.Allow*", reason: "allowed")
    let objects: [AnyObject] = [SharedMore(), Allowed(), Single(), Single()]
    Allocations.expectedToLive(objects[2], reason: "single")
    for object in objects { expect(object, "may live") }
    _ = found.nextSurvivor("may live")
    XCTAssertEqual(found.survivors.filter { $0.reason == "may live" }.count, 1)
    wait { ["shared", "allowed", "single"].allSatisfy { Allocations.survivorsExpectedToLive[$0] == 1 } }
    withExtendedLifetime(objects) {}
  }

  final class Born {}
  nonisolated(unsafe) static var kept: [AnyObject] = []

  func testAScopeTellsWhatItsTasksLeftAndTakesItBack() async {
    await Allocations.withScope("GET /x", of: .type(Born.self), expectReleasedWithin: .milliseconds(5)) {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { Self.kept.append(Born()) }
      }
      await Task.detached { Self.kept.append(Born()) }.value
      _ = Born()
    }
    let outside = Born()
    let survivors = found.scope("GET /x")
    XCTAssertEqual(survivors.rows.map(\.type), ["LifespanTests.WatchingTests.Born"])
    XCTAssertEqual(survivors.rows.map(\.count), [2])
    XCTAssertTrue(
      survivors.description.hasPrefix(
        "scope “GET /x” ended 5 ms ago and left 2 × LifespanTests.WatchingTests.Born (allocated by "),
      survivors.description)
    Self.kept = []
    found.wait("withdrawn") {
      if case .scopeWithdrawn(let other, _) = $0 { other.scope == "GET /x" } else { false }
    }
    withExtendedLifetime(outside) {}
  }

  func testAScopeOfAThreadHoldsWhatTheThreadMakes() {
    var kept: [AnyObject] = []
    let value = Allocations.withScope("turn", of: .module("LifespanTests"), expectReleasedWithin: .zero) {
      kept.append(Born())
      return 5
    }
    XCTAssertEqual(value, 5)
    XCTAssertEqual(found.scope("turn").rows.map(\.count), [1])
    withExtendedLifetime(kept) {}
  }

  final class Budgeted {}

  func testABudgetThatIsPassedIsToldOnceAndAgainAfterItWasKept() {
    Allocations.maxLiveCount(of: Budgeted.self, 2)
    var kept = (0..<3).map { _ in Budgeted() }
    func passed() -> Allocations.BudgetPassed {
      var result: Allocations.BudgetPassed?
      found.take("budget") { if case .budgetPassed(let one) = $0 { result = one; return true } else { return false } }
      return result ?? Allocations.BudgetPassed(types: "", count: 0, limit: 0)
    }
    XCTAssertEqual(passed().description, "3 objects of LifespanTests.WatchingTests.Budgeted live, at most 2 should")
    Allocations.maxLiveCount(of: Budgeted.self, 4)
    kept += (0..<3).map { _ in Budgeted() }
    XCTAssertEqual(passed().count, 6)
    Allocations.maxLiveCount(of: Budgeted.self, 1_000)
    withExtendedLifetime(kept) {}
  }

  final class Visitor {}

  func testARoundTripSaysWhatLivedBeforeWhatWasBornInsideAndWhatIsLeft() {
    var kept = [Visitor(), Visitor()]
    let round = Allocations.roundTrip(of: .type(Visitor.self)) {
      kept.append(Visitor())
      kept.append(Visitor())
      _ = made { Visitor() }
      kept.removeFirst()
    }
    XCTAssertNil(round.missing)
    XCTAssertEqual(round.suspects.count, 1)
    XCTAssertEqual(round.suspects.first?.type, "LifespanTests.WatchingTests.Visitor")
    XCTAssertEqual(round.suspects.first?.before, 2)
    XCTAssertEqual(round.suspects.first?.inside, 2)
    XCTAssertEqual(round.suspects.first?.after, 3)
    XCTAssertEqual(round.suspects.first?.allocatedBy.isEmpty, false)
    XCTAssertEqual(Allocations.roundTrip(of: .type(Visitor.self)) {}.suspects.count, 0)
    withExtendedLifetime(kept) {}
  }

  final class Many {}

  func testAHundredThousandObjectsAreWatchedAtOnce() {
    var kept = (0..<100_000).map { _ in Many() }
    for object in kept { Allocations.expectRelease(of: object, within: .seconds(3_600), reason: "an hour") }
    for object in kept[..<2_000] { Allocations.expectRelease(of: object, within: .zero, reason: "at once") }
    var told = 0
    wait {
      found.survivors.reduce(0) { $1.reason == "at once" ? $0 + 1 + $1.others.values.reduce(0, +) : $0 } >= 2_000
    }
    told = found.survivors.filter { $0.reason == "at once" }.count
    XCTAssertGreaterThan(told, 0)
    kept = []
    // Those of the hour are swept as soon as there are more.
    for _ in 0..<60_000 { expect(made { Many() }, "gone") }
    XCTAssertEqual(found.survivors.filter { $0.reason == "at once" }.count, told)
  }

  nonisolated(unsafe) static var holdsTooLong: [Page] = []

  func testWhoHoldsASurvivorIsToldWhereTheProgramWantsIt() {
    Self.holdsTooLong = [made { Page() }]
    expect(Self.holdsTooLong[0], "not asked")
    let silent = found.nextSurvivor("not asked")
    XCTAssertEqual(silent.path, [])
    XCTAssertNil(silent.reach)
    Allocations.handleFindings(.callback { [found] in found.add($0) }, lookingForHolders: true)
    expect(Self.holdsTooLong[0], "asked")
    let survivor = found.nextSurvivor("asked")
    XCTAssertEqual(survivor.reach, .reachable, survivor.description)
    XCTAssertTrue(survivor.path.first?.contains("holdsTooLong") ?? false, survivor.description)
    XCTAssertEqual(survivor.path.last, "LifespanTests.WatchingTests.Page")
    XCTAssertTrue(survivor.description.contains("; held by global "), survivor.description)
    Self.holdsTooLong = []
  }

  func testLooksForHoldersTakeAHundredthOfTheTimeBeyondTheFirstTen() {
    var time: UInt64 = 0
    var looks = HolderLooks { _ in
      time += 1_000
      return HeldBy(reach: .reachable)
    }
    var rules = WatchRules()
    rules.looksForHolders = true
    func look() -> Bool { looks.look(at: ~8, rules) { time }.reach == .reachable }
    for _ in 0..<10 { XCTAssertTrue(look()) }
    XCTAssertFalse(look())
    XCTAssertEqual(
      looks.look(at: ~8, rules) { time }.note, "was not looked for: that takes at most a hundredth of the time")
    // The first has taken a thousand: that is paid for a hundred thousand later.
    time = 100_999
    XCTAssertFalse(look())
    time = 101_000
    XCTAssertTrue(look())
    XCTAssertFalse(look())
    time = 5_000_000
    for _ in 0..<10 { XCTAssertTrue(look()) }
    XCTAssertFalse(look())
    time = 50_000_000
    rules.looksForHolders = false
    XCTAssertFalse(look())
  }

  final class Pair {
    let first = Page()
    let second = Page()
  }

  func testAnExpectationMakesOneObjectAndOneMoreForChildren() throws {
    func births(_ make: () -> AnyObject) throws -> Int? {
      // Lists that grow make one more now and then.
      try (0..<6).map { _ in
        let object = made(make)
        let scope = try TaskScope(tallied: true)
        defer { scope.forget() }
        Allocations.expectRelease(of: object, within: .seconds(3_600), reason: "an hour")
        scope.end()
        return try withExtendedLifetime(object) { try scope.rows().reduce(0) { $0 + $1.births } }
      }.min()
    }
    XCTAssertEqual(try births { Page() }, 1)
    XCTAssertEqual(try births { Pair() }, 2)
  }

  private func expect(_ object: AnyObject?, _ reason: String) {
    if let object { Allocations.expectRelease(of: object, within: .milliseconds(5), reason: reason) }
  }

  private func wait(_ condition: () -> Bool) {
    while !condition() { Thread.sleep(forTimeInterval: 0.002) }
  }
}

/// What the watch has told, in order.
private final class Findings: @unchecked Sendable {
  private let condition = NSCondition()
  private var list: [Allocations.Finding] = []
  private var read = 0

  var all: [Allocations.Finding] { condition.withLock { list } }
  var survivors: [Allocations.Survivor] {
    all.compactMap { if case .survivor(let survivor) = $0 { survivor } else { nil } }
  }

  func add(_ finding: Allocations.Finding) {
    condition.withLock {
      list.append(finding)
      condition.broadcast()
    }
  }

  /// Waits for one that is so.
  @discardableResult
  func wait(_ what: String, _ is: (Allocations.Finding) -> Bool) -> Allocations.Finding {
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let one = list.first(where: `is`) { return one }
      condition.wait()
    }
  }

  /// Waits for the next one that is so, behind those that were taken.
  func take(_ what: String, _ is: (Allocations.Finding) -> Bool) {
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let place = list[read...].firstIndex(where: `is`) {
        read = place + 1
        return
      }
      condition.wait()
    }
  }

  func survivor(_ is: (Allocations.Survivor) -> Bool) -> Allocations.Survivor {
    while true {
      let one = wait("survivor") { if case .survivor(let survivor) = $0 { `is`(survivor) } else { false } }
      if case .survivor(let survivor) = one { return survivor }
    }
  }

  func nextSurvivor(_ reason: String) -> Allocations.Survivor {
    var result: Allocations.Survivor?
    while true {
      take("survivor") {
        guard case .survivor(let survivor) = $0, survivor.reason == reason else { return false }
        result = survivor
        return true
      }
      if let result { return result }
    }
  }

  func scope(_ name: String) -> Allocations.ScopeSurvivors {
    while true {
      let one = wait("scope") { if case .scopeSurvivors(let survivors) = $0 { survivors.scope == name } else { false } }
      if case .scopeSurvivors(let survivors) = one { return survivors }
    }
  }
}
