// Single objects and their histories.
import LifespanAnalysis
import LifespanTrace
import Testing

@Suite struct ObjectTests {
  @Test func anObjectIsGivenWithAllThatIsKnown() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 32)
    let stack = builder.stack(0x1010, 0x2020)
    builder.mark("start")
    builder.thread = ThreadID(3)
    builder.task = TaskID(9)
    let first = builder.birth(node, stack: stack, address: 0x7000)  // 0
    builder.birth(node)  // 1,000
    builder.deinitEnded(first)  // 2,000
    builder.birth(node)  // 3,000
    builder.free(first)  // 4,000
    let list = try builder.analysis().answer(ObjectsQuestion(lifespan: .destroyed))
    #expect(
      list.objects == [
        ObjectRecord(
          serial: first, address: ObjectAddress(0x7000),
          type: TypeIdentity(id: node, name: "App.Node", rawName: "App.Node", kind: .classInstance, module: "App"),
          size: ByteCount(32), born: TraceTime(0), died: TraceTime(2000), freed: TraceTime(4000), age: 2000,
          thread: ThreadID(3), task: TaskID(9), stack: stack, generation: Generation(1), state: .freed)
      ])
  }

  @Test func listsFollowTheLifespanFilter() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    let freed = builder.birth(node)
    let kept = builder.birth(node)
    let lost = builder.birth(node)
    let living = builder.birth(node)
    builder.death(freed)
    builder.deinitEnded(kept)
    builder.endNotSeen(lost)
    let analysis = try builder.analysis()
    func ask(_ lifespan: LifespanFilter) throws -> [String] {
      try analysis.answer(ObjectsQuestion(lifespan: lifespan)).objects.map { "@\($0.serial) \($0.state.rawValue)" }
    }
    #expect(try ask(.all) == ["@1 freed", "@2 deinitedMemoryKept", "@3 endNotSeen", "@4 living"])
    #expect(try ask(.living) == ["@4 living"])
    #expect(try ask(.destroyed) == ["@1 freed", "@2 deinitedMemoryKept", "@3 endNotSeen"])
    #expect(living == SerialNumber(4))
    let list = try analysis.answer(ObjectsQuestion())
    #expect([list.count, list.keptCount] == [1, 1])
    #expect(list.keptBytes == ByteCount(32))
    #expect(try analysis.answer(ObjectsQuestion()).objects.last?.age == 3000 + 1000)
  }

  @Test func aListOfManyObjectsIsInTheOrderOfBirthsWithAndWithoutALimit() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 32)
    var objects: [SerialNumber] = []
    for _ in 0..<2_500 { objects.append(builder.birth(node)) }
    // Youngest first, every third stays.
    for object in objects.reversed() where object.rawValue % 3 != 0 { builder.death(object) }
    let analysis = try builder.analysis()
    for (lifespan, expected) in [
      (LifespanFilter.all, objects), (.destroyed, objects.filter { $0.rawValue % 3 != 0 }),
      (.living, objects.filter { $0.rawValue % 3 == 0 }),
    ] {
      let list = try analysis.answer(ObjectsQuestion(lifespan: lifespan))
      #expect(list.objects.map(\.serial) == expected)
      #expect(list.count == expected.count && list.groups.map(\.count) == [expected.count])
      #expect(list.groups.first?.serials == expected)
      let few = try analysis.answer(ObjectsQuestion(lifespan: lifespan, limit: 7))
      #expect(few.objects == ObjectRecords(Array(list.objects.prefix(7))))
      #expect(few.count == list.count && few.bytes == list.bytes)
    }
  }

  @Test func aGenerationAndATypeDrillDownToStacksAndObjects() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 32)
    let page = builder.type("App.Page", size: 100)
    let one = builder.stack(0x1010)
    let two = builder.stack(0x2020)
    builder.birth(node, stack: one)
    builder.mark("warm")
    builder.birth(node, stack: one)
    builder.birth(node, stack: two)
    builder.birth(page, stack: two)
    builder.death(builder.birth(node, stack: one))
    builder.birth(node, stack: two)
    builder.mark("round")
    builder.birth(node, stack: one)
    let analysis = try builder.analysis()
    let list = try analysis.answer(
      ObjectsQuestion(types: TypeFilter(include: ["App.Node"]), generation: "round", limit: 2))
    #expect(list.count == 3)
    #expect(list.bytes == ByteCount(96))
    #expect(list.objects.map(\.serial) == [SerialNumber(2), SerialNumber(3)])
    #expect(list.groups.map(\.stack) == [two, one])
    #expect(list.groups.map(\.count) == [2, 1])
    #expect(list.groups.map(\.serials) == [[SerialNumber(3)], [SerialNumber(2)]])
    #expect(try analysis.answer(ObjectsQuestion(generation: "C")).objects.map(\.serial) == [SerialNumber(7)])
    #expect(
      try analysis.answer(ObjectsQuestion(stack: two)).objects.map(\.serial)
        == [3, 4, 6].map { SerialNumber($0) })
    #expect(throws: Analysis.Failure.self) { try analysis.answer(ObjectsQuestion(generation: "D")) }
  }

  @Test func objectsAreSeenAtTheEndOfTheWindow() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    let first = builder.birth(node)
    builder.mark("m")
    builder.death(first)
    builder.birth(node)
    let list = try builder.analysis().answer(ObjectsQuestion(window: TimeWindow(to: .mark("m"))))
    #expect(list.objects.map(\.serial) == [first])
    #expect(list.objects.first?.age == 1000)
    #expect(list.objects.first?.died == nil)
  }

  @Test func aHistoryCountsReferences() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node", size: 32, tracked: true)
    let stack = builder.stack(0x1010)
    let other = builder.birth(node)
    let object = builder.birth(node, stack: stack, address: 0x7000)  // 1,000
    builder.retain(other, before: 1)
    builder.thread = ThreadID(2)
    builder.retain(object, before: 1, stack: stack)  // 3,000
    builder.retain(object, by: 2, flavour: 1)  // 4,000
    builder.release(object, by: 3, before: 4)  // 5,000
    builder.release(object, flavour: 4, before: 1)  // 6,000
    builder.deinitBegins(object)  // 7,000
    builder.death(object)  // 8,000
    let history = try builder.analysis().history(of: .serial(object))
    let text = history.events.map { event in
      "\(event.number) \(event.kind.rawValue) \(event.flavour?.rawValue ?? "-") \(event.change) "
        + "\(event.countAfter.map(String.init) ?? "?") \(event.time) t\(event.thread) s\(event.stack)"
    }
    #expect(
      text == [
        "1 birth - 1 1 1000 t1 s2", "2 retain strong 1 2 3000 t2 s2", "3 retain weakLoad 2 4 4000 t2 s0",
        "4 release strong -3 1 5000 t2 s0", "5 release devirtualised -1 0 6000 t2 s0",
        "6 deinitBegins - 0 0 7000 t2 s0", "7 death - 0 0 8000 t2 s0",
      ])
    #expect(history.object.serial == object)
    #expect(history.object.state == .freed)
    #expect(history.others.isEmpty)
  }

  @Test func aRetainWithoutAmountIsOneStrongReference() throws {
    var builder = TraceBuilder(leaving: .amounts)
    let object = builder.birth(builder.type("App.Node"))
    builder.retain(object, by: 5, flavour: 3, before: 1)
    let retain = try #require(try builder.analysis().history(of: .serial(object)).events.last)
    #expect(retain.change == 1 && retain.flavour == .strong && retain.countAfter == nil)
  }

  @Test func anAddressMeansTheNewestObjectThatLayThereAndNamesTheOthers() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    let first = builder.birth(node, address: 0x7000)
    builder.death(first)
    let second = builder.birth(node, address: 0x8000)
    builder.birth(node, address: 0x9000)
    builder.move(second, to: 0x7000, size: 64)
    let analysis = try builder.analysis()
    let history = try analysis.history(of: .address(ObjectAddress(0x7000)))
    #expect(history.object.serial == second)
    #expect(history.object.address == ObjectAddress(0x7000))
    #expect(history.object.size == ByteCount(64))
    #expect(history.events.map(\.kind) == [.birth, .moved])
    #expect(history.events.map(\.address) == [ObjectAddress(0x8000), ObjectAddress(0x7000)])
    #expect(history.others.map(\.serial) == [first])
    #expect(history.earlierOthers == 0)
    #expect(try analysis.history(of: .address(ObjectAddress(0x8000))).object.serial == second)
  }

  @Test func unknownObjectsSaySoWithTheNearest() throws {
    var builder = TraceBuilder()
    let node = builder.type("App.Node")
    builder.birth(node, address: 0x7000)
    builder.birth(node, address: 0x9000)
    let analysis = try builder.analysis()
    func problem(_ selector: ObjectSelector) -> String? {
      do {
        _ = try analysis.history(of: selector)
        return nil
      } catch { return error.description }
    }
    #expect(problem(.serial(SerialNumber(3))) == "no object @3 in this recording, which has 2 births")
    #expect(
      problem(.address(ObjectAddress(0x8000))) == "no object lay at 0x8000 in this recording; nearest: 0x7000, 0x9000")
    var bare = TraceBuilder(leaving: .addresses)
    bare.birth(bare.type("App.Node"))
    #expect(throws: Analysis.Failure.self) { try bare.analysis().history(of: .address(ObjectAddress(0x7000))) }
  }
}
