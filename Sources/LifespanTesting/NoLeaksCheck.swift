// Objects of a body that nothing can reach any more. Called by expectNoLeaks and its trait.
import Lifespan

struct NoLeaksCheck {
  let title: String
  let types: Allocations.Types
  let site: CallSite

  init(_ name: String, of types: Allocations.Types, at site: CallSite) {
    title = "\(types)" == "\(Allocations.Types.all)" ? name : "\(name)(of: \(types))"
    self.types = types
    self.site = site
  }

  /// A dead word of a thread's stack may hold what is lost: it is looked so often again, from other stacks.
  private static let moreLooks = 3

  #if Recording
  /// The body's objects that are lost, and what is said of all leaks.
  private struct Found {
    var objects: [TaskScope.Object]
    let report: Allocations.LeakReport
    /// The leak that an object is in or below, by both numbers.
    let leakOf: [UInt64: UInt64]
  }

  private func living(_ measurement: Measurement) throws(Unrecorded) -> [TaskScope.Object] {
    do { return try measurement.living() } catch { throw Unrecorded("\(error)") }
  }

  /// Nothing of the body lives: nobody stops for a look.
  private func look(_ measurement: Measurement) throws(Unrecorded) -> Found? {
    guard try !living(measurement).isEmpty else { return nil }
    let report: Allocations.LeakReport
    do { report = try Allocations.leaks() } catch { throw Unrecorded("\(error)") }
    if let reason = report.withheld { throw Unrecorded(reason) }
    // What a library of the toolchain loses is none of the test's.
    let toolchains = Set(report.leaks.filter { $0.isToolchains }.map { $0.serial?.rawValue })
    let own = report.lost.filter { !toolchains.contains($0.leak) }
    let leakOf = Dictionary(own.map { ($0.serial, $0.leak) }) { first, _ in first }
    let objects = try living(measurement).filter { leakOf[$0.serial] != nil }
    return objects.isEmpty ? nil : Found(objects: objects, report: report, leakOf: leakOf)
  }

  /// What is lost at two moments: nothing that was only on its way from one place to another.
  private func lost(_ measurement: Measurement) throws(Unrecorded) -> Found? {
    guard let first = try look(measurement), var second = try look(measurement) else { return nil }
    let both = Set(first.objects.map { $0.serial })
    second.objects.removeAll { !both.contains($0.serial) }
    return second.objects.isEmpty ? nil : second
  }

  private func conclude(_ measurement: Measurement, _ found: Found) throws(Unrecorded) {
    let names: [UInt32: TaskScope.TypeName]
    var survivors: Survivors
    do {
      names = try TaskScope.types(types).names
      survivors = try measurement.survivors()
    } catch {
      throw Unrecorded("\(error)")
    }
    survivors.elsewhere = []
    let trace = KeptTrace.keep(at: site)
    let count = found.objects.count
    var message = Message("\(title): \(count) object\(count == 1 ? "" : "s") leaked, none expected")
    let byLeak = Dictionary(grouping: found.objects) { found.leakOf[$0.serial] ?? 0 }
    let groups = byLeak.map { number, objects in
      LeakGroup(objects, found.report.leaks.first { $0.serial?.rawValue == number }, names)
    }
    message.add(groups.sorted { ($1.bytes, $0.head.type) < ($0.bytes, $1.head.type) }, trace)
    message.addUncounted(survivors)
    message.add(trace)
    Frameworks.fail(message.text, at: site)
  }
  #endif

  func run<Failure: Error>(
    isolation: isolated (any Actor)?, _ body: () async throws(Failure) -> Void
  ) async throws(Failure) {
    guard let measurement = Measurement(title, of: types, at: site) else { return try await body() }
    defer { measurement.forget() }
    try await body()
    #if Recording
    // What the body's calls have left on this stack must not lie in the frames of what looks.
    Allocations.clearStack()
    #endif
    measurement.end()
    #if Recording
    do throws(Unrecorded) {
      var settling = Settling(min(Session.settling, 1))
      var found = try lost(measurement)
      var more = Self.moreLooks
      while found == nil, more > 0, try !living(measurement).isEmpty {
        // Once, however long a look takes on a busy machine.
        guard await settling.waits(isolation: isolation) || more == Self.moreLooks else { break }
        more -= 1
        found = try lost(measurement)
      }
      if let found { try conclude(measurement, found) }
    } catch {
      Unrecorded.report(error, title, at: site)
    }
    #endif
  }

  func run<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
    guard let measurement = Measurement(title, of: types, at: site) else { return try body() }
    defer { measurement.forget() }
    try body()
    #if Recording
    // What the body's calls have left on this stack must not lie in the frames of what looks.
    Allocations.clearStack()
    #endif
    measurement.end()
    #if Recording
    do throws(Unrecorded) {
      var settling = Settling(min(Session.settling, 1))
      var found = try lost(measurement)
      var more = Self.moreLooks
      while found == nil, more > 0, try !living(measurement).isEmpty {
        guard settling.waits() || more == Self.moreLooks else { break }
        more -= 1
        found = try lost(measurement)
      }
      if let found { try conclude(measurement, found) }
    } catch {
      Unrecorded.report(error, title, at: site)
    }
    #endif
  }
}

#if Recording
/// The body's objects in one leak: those of the type to look at first, and what hangs below.
struct LeakGroup {
  let head: Survivors.Group
  /// What holds it together; nil where the leak's head is not of this recording.
  let leak: Allocations.LeakReport.Leak?
  let below: [(type: String, count: Int)]
  let bytes: Int

  init(
    _ objects: [TaskScope.Object], _ leak: Allocations.LeakReport.Leak?, _ names: [UInt32: TaskScope.TypeName]
  ) {
    func name(_ object: TaskScope.Object) -> String { names[object.type]?.name ?? "unknown" }
    let byName = Dictionary(grouping: objects.sorted { $0.serial < $1.serial }, by: name)
    let rest = byName.map { ($0.key, $0.value.count) }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
    let type = leak.flatMap { byName[$0.type] == nil ? nil : $0.type } ?? rest.first?.0 ?? "unknown"
    let own = byName[type] ?? []
    head = Survivors.Group(
      type: type, count: own.count, bytes: own.reduce(0) { $0 + $1.bytes }, serials: own.map { $0.serial },
      inverted: own.first?.inverted ?? 0, stack: own.first?.stack ?? 0)
    self.leak = leak
    below = rest.filter { $0.0 != type }.map { (type: $0.0, count: $0.1) }
    bytes = objects.reduce(0) { $0 + $1.bytes }
  }
}

extension Message {
  static let mostSteps = 8

  mutating func add(_ groups: [LeakGroup], _ trace: KeptTrace?) {
    var notes: [String] = []
    for group in groups.prefix(Self.mostTypes) {
      addHead(of: group.head)
      add("    leaked: " + Self.text(of: group.leak))
      for row in group.below.prefix(Self.mostTypes) { add("    with it: \(row.count) × \(row.type)") }
      addStack(group.head, trace, &notes)
    }
    if groups.count > Self.mostTypes { add("  and \(groups.count - Self.mostTypes) more leaks") }
    for note in notes { add("  " + note) }
  }

  private static func text(of leak: Allocations.LeakReport.Leak?) -> String {
    switch leak?.kind {
    case .cycle:
      let steps = leak?.cycle.map { $0.description } ?? []
      let shown = steps.prefix(mostSteps).joined(separator: " → ")
      return "a cycle of \(leak?.cycleLength ?? 0), \(shown)" + (steps.count > mostSteps ? " → …" : "")
    case .suspendedTask: return "by a task that nobody can resume"
    case .root, nil: return "its last reference was lost"
    }
  }
}
#endif
