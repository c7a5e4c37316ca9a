// What is leaked and what is not, on heaps of every shape; fingerprints; verdicts withheld.
import LifespanAnalysis
import LifespanTrace
import Testing

@testable import LifespanHeap

@Suite struct LeakTests {
  @Test func nothingIsLeakedOfAnEmptyHeap() throws {
    #expect(try Picture().leaks() == [])
  }

  @Test func whatARootReachesIsNotLeaked() throws {
    var picture = Picture()
    let first = picture.object("App.A")
    let second = picture.object("App.B")
    let lost = picture.object("App.C")
    picture.root(first)
    picture.edge(first, "b", second)
    _ = lost
    #expect(try picture.leaks() == ["1 root [] App.C 1"])
  }

  @Test func wordsOfStacksAndBlocksInFlightHold() throws {
    var picture = Picture()
    picture.root(picture.object("App.A"), kind: .stack, isFirm: false)
    _ = picture.object("App.B", flags: .inFlight)
    #expect(try picture.leaks() == [])
    #expect(try picture.heap().rootCount(isFirm: false) == 1)
  }

  @Test func aCycleIsOneLeakWithItsProperties() throws {
    var picture = Picture()
    let request = picture.object("App.Request")
    let breaker = picture.object("App.Breaker")
    let context = picture.object("App.Context", kind: .closure)
    picture.edge(request, "breaker", breaker)
    picture.edge(breaker, "fallback", context)
    picture.edge(context, "request", request)
    #expect(
      try picture.leaks() == [
        "1 cycle [App.Breaker.fallback App.Context.request App.Request.breaker] App.Breaker 1, App.Context 1, App.Request 1"
      ])
  }

  @Test func anObjectThatHoldsItselfIsACycleOfOne() throws {
    var picture = Picture()
    let owner = picture.object("App.Owner")
    picture.edge(owner, "me", owner)
    #expect(try picture.leaks() == ["1 cycle [App.Owner.me] App.Owner 1"])
  }

  @Test func weakUnownedAndUnmanagedDoNotHold() throws {
    for strength in [HeapStrength.weak, .unowned, .unmanaged] {
      var picture = Picture()
      let holder = picture.object("App.Holder")
      let lost = picture.object("App.Lost")
      picture.root(holder)
      picture.edge(holder, "it", lost, strength)
      picture.edge(lost, "me", lost, strength)
      #expect(try picture.leaks() == ["1 root [] App.Lost 1"], "\(strength)")
    }
  }

  @Test func conservativeWordsHold() throws {
    var picture = Picture()
    let holder = picture.object("App.Holder")
    picture.root(holder)
    picture.edge(holder, "", picture.object("App.Held"), .conservative)
    #expect(try picture.leaks() == [])
  }

  @Test func aSideTableBelongsToItsObjectAndToWeakReferences() throws {
    var picture = Picture()
    let watcher = picture.object("App.Watcher")
    let lost = picture.object("App.Lost")
    let table = picture.block(40, name: "side table", flags: .sideTable)
    let orphan = picture.block(40, name: "side table", flags: .sideTable)
    picture.root(watcher)
    picture.edge(watcher, "it", table, .weak)
    picture.edge(lost, "", table)
    picture.edge(table, "", lost)
    // Of an object that is gone, kept by a weak reference.
    picture.edge(watcher, "gone", orphan, .weak, offset: 24)
    #expect(try picture.leaks() == ["1 root [] App.Lost 1"])
    var lonely = Picture()
    let object = lonely.object("App.Lost")
    lonely.edge(object, "", lonely.block(40, name: "side table", flags: .sideTable))
    #expect(try lonely.leaks() == ["1 root [] App.Lost 1, side table 1"])
  }

  @Test func whatWasDeinitedHoldsNothingAndUnownedReferencesKeepItsMemory() throws {
    var picture = Picture()
    let holder = picture.object("App.Holder")
    let zombie = picture.object("App.Zombie", flags: .deinited)
    let stale = picture.object("App.Stale")
    picture.root(holder)
    picture.edge(holder, "it", zombie, .unowned)
    picture.edge(zombie, "old", stale)
    #expect(try picture.leaks() == ["1 root [] App.Stale 1"])
  }

  @Test func freeMemoryHoldsNothingAndIsNoLeak() throws {
    var picture = Picture()
    let cache = picture.block(64, name: "dispatch continuation", flags: .freeMemory)
    picture.root(cache)
    picture.edge(cache, "", picture.object("App.Lost"), .conservative)
    _ = picture.block(64, flags: .freeMemory)
    #expect(try picture.leaks() == ["1 root [] App.Lost 1"])
  }

  @Test func blocksBelowALeakAreCountedThere() throws {
    var picture = Picture()
    let owner = picture.object("App.Owner")
    let buffer = picture.block(100)
    picture.edge(owner, "buffer", buffer)
    picture.edge(buffer, "", picture.block(200))
    let groups = try picture.heap().leaks().groups
    #expect(groups.count == 1)
    #expect(groups.first?.headBytes == 32 && groups.first?.belowBytes == 300 && groups.first?.belowCount == 2)
    #expect(groups.first?.rows.map(\.count) == [1, 2])
  }

  @Test func twoCyclesThatShareAnObjectAreOneAndWhatHangsBelowTwoLeaksIsCountedOnce() throws {
    var picture = Picture()
    let hub = picture.object("App.Hub")
    for name in ["App.Left", "App.Right"] {
      let side = picture.object(name)
      picture.edge(hub, "side", side, offset: name == "App.Left" ? 16 : 24)
      picture.edge(side, "hub", hub)
    }
    #expect(
      try picture.leaks() == ["1 cycle [App.Hub.side App.Left.hub] App.Hub 1, App.Left 1, App.Right 1"])
    var shared = Picture()
    let below = shared.object("App.Below")
    shared.edge(shared.object("App.A"), "below", below)
    shared.edge(shared.object("App.B"), "below", below)
    #expect(try shared.leaks() == ["1 root [] App.A 1, App.Below 1", "1 root [] App.B 1"])
  }

  @Test func aCycleBelowAnotherIsNoHead() throws {
    var picture = Picture()
    let (one, two) = (picture.object("App.One"), picture.object("App.Two"))
    picture.edge(one, "me", one)
    picture.edge(one, "two", two, offset: 24)
    picture.edge(two, "me", two)
    #expect(try picture.leaks() == ["1 cycle [App.One.me] App.One 1, App.Two 1"])
  }

  @Test func aTaskThatNobodyCanResumeIsCalledThat() throws {
    var picture = Picture()
    let task = picture.object("", kind: .task, size: 304, flags: .task)
    let slab = picture.block(1016, name: "task slab")
    let model = picture.object("App.Model")
    picture.edge(task, "slab", slab)
    picture.edge(slab, "self", model)
    let groups = try picture.heap().leaks().groups
    #expect(groups.map(\.kind) == [.suspendedTask])
    #expect(groups.first?.rows.map(\.count).reduce(0, +) == 3)
  }

  @Test func theSameLeakManyTimesIsOneGroup() throws {
    var picture = Picture()
    for _ in 0..<100 {
      let owner = picture.object("App.Owner")
      picture.edge(owner, "me", owner)
    }
    #expect(try picture.leaks() == ["100 cycle [App.Owner.me] App.Owner 100"])
  }

  /// Other addresses, another order of births, a longer ring: the same leak.
  @Test func aFingerprintIsTheSameInTheNextRun() throws {
    func ring(_ length: Int, from start: Int) throws -> LeakGroup? {
      var picture = Picture()
      for _ in 0..<start { picture.root(picture.object("App.Other")) }
      let nodes = (0..<length).map { _ in picture.object("App.Node") }
      for (index, node) in nodes.enumerated() { picture.edge(node, "next", nodes[(index + 1) % length]) }
      return try picture.heap().leaks(HeapNaming(functions: { _ in ["App.make()"] })).groups.first
    }
    let first = try ring(3, from: 0)
    #expect(first?.fingerprint.count == 16)
    #expect(try first?.fingerprint == ring(50, from: 7)?.fingerprint)
    var other = Picture()
    let node = other.object("App.Node")
    other.edge(node, "previous", node)
    let group = try other.heap().leaks(HeapNaming(functions: { _ in ["App.make()"] })).groups.first
    #expect(group?.fingerprint != first?.fingerprint)
  }

  @Test func elementsOfContainersDoNotChangeAFingerprint() throws {
    func leak(_ label: String) throws -> String? {
      var picture = Picture()
      let (owner, array) = (picture.object("App.Owner"), picture.object("Swift.Array", kind: .array))
      picture.edge(owner, "all", array)
      picture.edge(array, label, owner)
      return try picture.heap().leaks().groups.first?.fingerprint
    }
    #expect(try leak("[3]") == leak("[77]"))
    #expect(try leak("[3]") != leak("other"))
  }

  @Test func aToolchainsOwnLeakStandsApartUnlessSomethingOfTheProgramHangsBelow() throws {
    let naming = HeapNaming(
      isToolchains: { _ in true }, isToolchainType: { $0.kind == .malloc || $0.module == "Foundation" })
    var picture = Picture()
    let plain = picture.object("Foundation.Run")
    picture.edge(plain, "buffer", picture.block())
    let timer = picture.object("Foundation.Timer")
    picture.edge(timer, "block", picture.object("App.Query"))
    let groups = try picture.heap().leaks(naming).groups
    #expect(groups.map(\.head.name) == ["Foundation.Timer", "Foundation.Run"])
    #expect(groups.map(\.isToolchains) == [false, true])
  }

  @Test func whatTheToolchainIsKnownToLoseSaysWhyAndWhoseItIs() throws {
    let naming = HeapNaming(
      isToolchainType: { $0.module == "Foundation" },
      toolchainsReason: { $0.name == "Foundation.Timer" ? "it retains itself" : nil })
    var picture = Picture()
    let timer = picture.object("Foundation.Timer")
    picture.edge(timer, "fire", picture.object("closure in App.run()", kind: .closure))
    var groups = try picture.heap().leaks(naming).groups
    #expect(groups.map(\.isToolchains) == [true] && groups.first?.reason == "it retains itself")
    // With an object of the program's below it is its trouble, too; in a cycle it is not known whose.
    picture.edge(timer, "fire", picture.object("App.Query"))
    groups = try picture.heap().leaks(naming).groups
    #expect(groups.map(\.isToolchains) == [false] && groups.first?.reason == "it retains itself")
    picture.edge(timer, "itself", timer)
    groups = try picture.heap().leaks(naming).groups
    #expect(groups.first?.kind == .cycle && groups.first?.reason == nil)
  }

  @Test func noLeakIsToldFromAnIncompletePictureOrAcrossAGap() throws {
    var picture = Picture()
    _ = picture.object("App.Lost")
    picture.graph.head.isComplete = false
    picture.graph.head.notes = ["thread 7 could not be stopped"]
    let heap = try picture.heap()
    #expect(heap.leaks().groups.isEmpty)
    #expect(heap.leaks().withheld == "the picture of the heap is not complete: thread 7 could not be stopped")
    var gap = Picture()
    _ = gap.object("App.Lost")
    gap.trace.gap(births: 1)
    #expect(try gap.heap().leaks().groups.isEmpty)
    #expect(try gap.heap().leaks().withheld?.contains("1 births") == true)
  }

  /// Deeper than any stack: nothing may recurse.
  @Test func aListOfAMillionObjectsLostAndHeld() throws {
    let count = 1_000_000
    for isHeld in [false, true] {
      var picture = Picture()
      let type = picture.trace.type("App.Node")
      picture.graph.reserve(nodes: count, edges: 2 * count)
      for index in 0..<count {
        picture.graph.addNode(address: 0x10000 + UInt64(index) * 32, size: 32, type: type)
      }
      let labels = (picture.graph.name("next"), picture.graph.name("previous"))
      for index in 0..<UInt32(count - 1) {
        picture.graph.addEdge(from: index, to: index + 1, offset: 16, label: labels.0)
        picture.graph.addEdge(from: index + 1, to: index, offset: 24, label: labels.1)
      }
      if isHeld { picture.root(0, "App.list") }
      let heap = try picture.heap()
      #expect(heap.leaks().groups.map(\.headCount) == (isHeld ? [] : [count]))
      #expect(heap.dominators.retained[0] == (isHeld ? UInt64(count) * 32 : 0))
      #expect(heap.shortestPath(to: count - 1)?.steps.count == (isHeld ? count : nil))
    }
  }
}
