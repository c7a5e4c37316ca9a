// What the program does and what it must be told. Each scenario leaves behind what it says. Called by main.swift in
// order.
import Glibc
import Lifespan

func checkNotStarted() {
  let why = reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: Session.self) }
  equal(why, .notStarted, "before the start")
  equal(Allocations.markGeneration("early").isRecorded, false, "a mark before the start is recorded")
  equal(Allocations.capture, nil, "capture before the start")
  if let entry = dlsym(nil, "swift_retain") {
    equal(entry.load(as: UInt8.self) == 0xe9, false, "swift_retain is patched before the start")
  }
  equal(addressSpace() < 4 << 30, true, "memory is mapped before the start: \(addressSpace()) bytes")
}

/// What `/proc/self/statm` says first, in bytes.
private func addressSpace() -> Int {
  guard let file = fopen("/proc/self/statm", "r") else { return 0 }
  defer { fclose(file) }
  var text = [UInt8](repeating: 0, count: 64)
  let count = fread(&text, 1, text.count, file)
  let word = String(decoding: text[..<count], as: UTF8.self).split(separator: " ").first
  return (word.flatMap { Int($0) } ?? 0) * Int(getpagesize())
}

func start() {
  do {
    let scope: Allocations.Recording = mode == "swift" ? .swiftObjects : .tracked
    let capture = try Allocations.start(recording: scope, [.ignore("*Cache")])
    if busy, case .partial(let reason) = capture {
      // While threads run, a hook needs one certain place in memory; where another image lies there, it says so.
      equal(reason.hasSuffix("the place its bytes point to is taken"), true, "capture: \(reason)")
    } else {
      equal(capture, .complete, "capture")
    }
  } catch {
    say("DIFFERENCE start: \(error)")
    exit(1)
  }
}

func checkLiveCounts() {
  equalCount(Session.self, 0, "at first")
  var sessions = (0..<100).map { Session(number: $0) }
  var nodes: [Node] = (0..<20).map { _ in Node() }
  nodes += (0..<30).map { _ in Leaf() }
  let counters = (0..<7).map { _ in Counter() }
  let crates: [AnyObject] = [Crate(1), Crate(2), Crate("a"), Crate([1.0])]
  let buffers = (1...5).map { Bytes.make($0 * 10) }
  let named: [Named] = [Named(), NamedChild(), NamedChild()]
  equalCount(Session.self, 100, "created")
  sessions.removeFirst(40)
  equalCount(Session.self, 60, "40 destroyed")
  equalCount(Node.self, 50, "with subclasses")
  equalCount(Leaf.self, 30, "subclass alone")
  equalCount(TrackedObject.self, 50, "base class")
  equalCount(Counter.self, 7, "actors")
  equalCount(Crate<Int>.self, 2, "generic")
  equalCount(Crate<String>.self, 1, "generic")
  equalCount(Crate<[Double]>.self, 1, "generic")
  equalCount(Bytes.self, 5, "managed buffers")
  equalCount(Named.self, 3, "tracked by name")
  nodes.removeLast(25)
  equalCount(Leaf.self, 5, "25 destroyed")
  kept += sessions as [AnyObject] + nodes + counters + crates + buffers + named
}

func checkGrowth() {
  let mark = Allocations.markGeneration("first")
  equal(mark.isRecorded, true, "mark")
  let leaves = (0..<11).map { _ in Leaf() }
  let second = Allocations.markGeneration()
  var sessions = (0..<9).map { Session(number: $0) }
  sessions.removeLast(2)
  do {
    let first = try Allocations.growth(since: mark)
    equal(first.persistentCount(ofType: "linked.Leaf"), 11, "growth since the first mark")
    equal(first.persistentCount(ofType: "linked.Session"), 7, "growth since the first mark")
    let later = try Allocations.growth(since: second)
    equal(later.persistentCount(ofType: "linked.Leaf"), 0, "growth since the second mark")
    equal(later.persistentCount(ofType: "linked.Session"), 7, "growth since the second mark")
  } catch {
    equal("\(error)", "", "growth")
  }
  kept += leaves as [AnyObject] + sessions
}

/// The library's own objects are no growth.
func checkNoGrowth() {
  guard !busy else { return }
  let mark = Allocations.markGeneration("nothing happens")
  do {
    equal(try Allocations.growth(since: mark).rows, [], "growth where nothing happened")
    _ = try Allocations.statistics(.all)
    equal(try Allocations.growth(since: mark).rows, [], "growth where statistics were asked for")
  } catch {
    equal("\(error)", "", "growth")
  }
}

func checkTokens() {
  func living(_ name: String) -> Int { (try? Allocations.liveCount(ofToken: name)) ?? -1 }
  do {
    let upload = Upload()
    equal(living("Upload"), 1, "noncopyable value")
    _ = consume upload
  }
  equal(living("Upload"), 0, "noncopyable value consumed")
  var entries = (0..<12).map { _ in Entry() }
  let copies = entries
  equal(living("Entry"), 12, "copies share their token")
  entries.removeAll()
  equal(living("Entry"), 12, "the copies live")
  equal(copies.count, 12, "the copies")
  equal(living("None"), 0, "a token that never was")
}

func checkLeftOut() {
  let others = (0..<5).map { _ in Untracked() }
  let pages = (0..<3).map { _ in PageCache() }
  let untracked = reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: Untracked.self) }
  let rows = (try? Allocations.statistics(.all)) ?? []
  equal(rows.contains { $0.type == "linked.Untracked" }, mode == "swift", "a row of a type that is not tracked")
  equal(rows.contains { $0.type == "linked.PageCache" }, false, "a row of a type left out by a rule")
  equal(
    rows.contains { $0.kind == .array || $0.kind == .closure }, mode == "swift", "a row of what is no tracked class")
  equal(Allocations.history(of: pages[0]).events.count, 0, "the history of a type left out by a rule")
  if mode != "swift" {
    equal(untracked, .notTracked(type: "linked.Untracked"), "a type that is not tracked")
  } else {
    equalCount(Untracked.self, 5, "all Swift objects")
  }
  let ignored = reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: PageCache.self) }
  equal(ignored, .leftOut(type: "linked.PageCache"), "a type left out by a rule")
  kept += others as [AnyObject] + pages
}

func checkStopAndStart() {
  let before = (try? Allocations.liveCount(of: Counter.self)) ?? -1
  Allocations.stop()
  kept.append(Counter())
  let why = reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: Counter.self) }
  equal(why, .stopped, "stopped")
  equal((try? Allocations.statistics(.living).isEmpty) ?? true, false, "statistics after a stop")
  do {
    try Allocations.start(recording: mode == "swift" ? .swiftObjects : .tracked, [.ignore("*Cache")])
  } catch {
    equal("\(error)", "", "start after a stop")
  }
  equalCount(Counter.self, before, "born while stopped: not counted")
  let capture = Allocations.capture?.description ?? ""
  equal(capture.hasPrefix("partial: recording was stopped between "), true, "capture after a stop: \(capture)")
  do {
    try Allocations.start(recording: .tracked, [.record("Other.*")])
    equal("started", "", "a second start with other options")
  } catch {
    equal(error, .alreadyRecording, "a second start with other options")
  }
}

func checkSave(_ path: String) {
  do {
    try Allocations.save(to: path)
  } catch {
    equal("\(error)", "", "save")
  }
  do {
    try Allocations.save(to: "/nowhere/at/all.lifespan")
    equal("saved", "", "save to a folder that is not there")
  } catch {
    equal(error, .file(path: "/nowhere/at/all.lifespan", errno: ENOENT, message: "No such file or directory"), "save")
  }
}

func printStatistics() {
  let rows = ((try? Allocations.statistics(.all)) ?? []).filter { $0.kind == .class && $0.type.hasPrefix("linked.") }
  let text = rows.map {
    """
    "\($0.type)":{"persistent_count":\($0.persistentCount),"persistent_bytes":\($0.persistentBytes),\
    "transient_count":\($0.transientCount),"total_count":\($0.totalCount),"total_bytes":\($0.totalBytes)}
    """
  }
  print("{\(text.joined(separator: ","))}")
}
