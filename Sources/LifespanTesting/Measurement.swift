// One measured body: what was born in it, in the test's own tasks, and what of it lives. Made by every assertion.
internal import Foundation
import Lifespan

/// What lives of a body's objects, and what is not counted.
struct Survivors {
  /// Objects of one type.
  struct Group {
    var type: String
    var count: Int
    var bytes: Int
    var serials: [UInt64]
    /// The address of the first one, inverted: what tells of an object must not look like a reference to it.
    var inverted: UInt64
    var stack: UInt32
  }
  /// Born meanwhile in no test's tasks.
  struct Elsewhere {
    var type: String
    var count: Int
    var threads: [UInt32]
  }

  var groups: [Group] = []
  var elsewhere: [Elsewhere] = []
  var known: [String: Int] = [:]

  var count: Int { groups.reduce(0) { $0 + $1.count } }
}

#if Recording
struct Measurement {
  let title: String
  let types: Allocations.Types
  let site: CallSite
  private let scope: TaskScope
  private let known = Known.all

  /// nil: nothing is recorded, and that has been reported.
  init?(_ title: String, of types: Allocations.Types, tallied: Bool = false, at site: CallSite) {
    self.title = title
    self.types = types
    self.site = site
    do throws(Unrecorded) {
      try Session.checkRecording(of: types)
      scope = try Self.begin(tallied)
    } catch {
      Unrecorded.report(error, title, at: site)
      return nil
    }
  }

  private static func begin(_ tallied: Bool) throws(Unrecorded) -> TaskScope {
    do {
      return try TaskScope(tallied: tallied)
    } catch {
      throw Unrecorded("\(error)")
    }
  }

  /// What is born from now on does not count.
  func end() { scope.end() }
  func forget() { scope.forget() }

  /// Ticks of the recording, to tell births of one iteration from those of the next.
  static var ticks: UInt64 { TaskScope.ticks }

  /// What lives now of the chosen types.
  func living() throws(Allocations.NotRecording) -> [TaskScope.Object] {
    let (_, chosen) = try TaskScope.types(types)
    let known = try chosenAsKnown()
    return try scope.living().filter { object in
      object.place == .inside && chosen.contains(object.type) && !known.contains { $0.types.contains(object.type) }
    }
  }

  func survivors() throws(Allocations.NotRecording) -> Survivors {
    let (names, chosen) = try TaskScope.types(types)
    let known = try chosenAsKnown()
    var result = Survivors()
    for (type, objects) in Dictionary(grouping: try scope.living(), by: { $0.type }) where chosen.contains(type) {
      let name = names[type]?.name ?? "unknown"
      let inside = objects.filter { $0.place == .inside }.sorted { $0.serial < $1.serial }
      let outside = objects.filter { $0.place == .inNoScope }
      if !outside.isEmpty {
        result.elsewhere.append(
          Survivors.Elsewhere(type: name, count: outside.count, threads: Set(outside.map { $0.thread }).sorted()))
      }
      guard let first = inside.first else { continue }
      if let reason = known.first(where: { $0.types.contains(type) })?.reason {
        result.known[reason, default: 0] += inside.count
        continue
      }
      result.groups.append(
        Survivors.Group(
          type: name, count: inside.count, bytes: inside.reduce(0) { $0 + $1.bytes }, serials: inside.map { $0.serial },
          inverted: first.inverted, stack: first.stack))
    }
    result.groups.sort { ($1.count, $0.type) < ($0.count, $1.type) }
    result.elsewhere.sort { $0.type < $1.type }
    return result
  }

  /// Births and retains of the chosen types, by type.
  func tally() throws(Allocations.NotRecording) -> [(type: String, births: Int, retains: Int)] {
    let (names, chosen) = try TaskScope.types(types)
    let known = try chosenAsKnown()
    var sums: [String: (births: Int, retains: Int)] = [:]
    for row in try scope.rows()
    where chosen.contains(row.type) && !known.contains(where: { $0.types.contains(row.type) }) {
      let name = names[row.type]?.name ?? "unknown"
      sums[name, default: (0, 0)].births += row.births
      sums[name, default: (0, 0)].retains += row.retains
    }
    return sums.map { ($0.key, $0.value.births, $0.value.retains) }
  }

  private func chosenAsKnown() throws(Allocations.NotRecording) -> [(types: Set<UInt32>, reason: String)] {
    var result: [(types: Set<UInt32>, reason: String)] = []
    for one in known { result.append((try TaskScope.types(one.types).chosen, one.reason)) }
    return result
  }
}
#else
struct Measurement {
  let title: String

  init?(_ title: String, of types: Allocations.Types, tallied: Bool = false, at site: CallSite) {
    Unrecorded.report(Unrecorded("\(Allocations.NotRecording(.builtWithout))"), title, at: site)
    return nil
  }

  static var ticks: UInt64 { 0 }
  func end() {}
  func forget() {}
}
#endif

extension Unrecorded {
  /// A failure; a warning where the environment says that nothing need be recorded.
  static func report(_ error: Unrecorded, _ title: String, at site: CallSite) {
    if Session.isRequired {
      Frameworks.fail(
        "\(title): nothing is asserted, as \(error.reason). LIFESPAN_REQUIRED=0 makes a warning of this.", at: site)
    } else {
      Frameworks.warn("\(title): skipped, as \(error.reason).", at: site)
    }
  }
}

/// Waits for objects that are about to die on other threads: looks again and again until it is as it should be, or the time is over.
struct Settling {
  private let end: Double
  private var pause = 0.000_2

  init(_ seconds: Double = Session.settling) { end = Self.now + seconds }

  private static var now: Double { ProcessInfo.processInfo.systemUptime }
  private var isOver: Bool { Self.now >= end }

  /// False: the time is over.
  mutating func waits() -> Bool {
    guard !isOver else { return false }
    // What has to end on the main queue ends while it runs.
    if Thread.isMainThread {
      _ = RunLoop.main.run(mode: .default, before: Date(timeIntervalSinceNow: pause))
    }
    Thread.sleep(forTimeInterval: pause)
    pause = min(pause * 2, 0.02)
    return true
  }

  /// False: the time is over.
  mutating func waits(isolation: isolated (any Actor)?) async -> Bool {
    guard !isOver else { return false }
    // A cancelled task does not sleep.
    do { try await Task.sleep(nanoseconds: UInt64(pause * 1e9)) } catch { Self.block(pause) }
    pause = min(pause * 2, 0.02)
    return true
  }

  private static func block(_ seconds: Double) { Thread.sleep(forTimeInterval: seconds) }
}
