// Growth over rounds: a type grows where every measured round has left objects of it, and more than have gone of those that were there
// before. What replaces something (a cache that is full) does not grow. Called by expectNoGrowth and its trait.
import Lifespan

struct GrowthCheck {
  let title: String
  let types: Allocations.Types
  let warmUp: Int
  let iterations: Int
  let site: CallSite

  #if Recording
  /// What is known between the rounds.
  private struct Rounds {
    /// Ticks of the recording at the end of the warm-up, and of each measured round.
    var ends: [UInt64] = []
    /// What lived after the warm-up, by type.
    var before: [UInt32: Int] = [:]
  }

  private static func counts(_ measurement: Measurement) throws(Allocations.NotRecording) -> [UInt32: Int] {
    try measurement.living().reduce(into: [:]) { $0[$1.type, default: 0] += 1 }
  }

  /// Types that grow, with the number of objects that each round has left.
  private func growing(_ measurement: Measurement, _ rounds: Rounds) throws(Allocations.NotRecording) -> [UInt32: [Int]]
  {
    var result: [UInt32: [Int]] = [:]
    for (type, objects) in Dictionary(grouping: try measurement.living(), by: { $0.type }) {
      var left = [Int](repeating: 0, count: rounds.ends.count)
      for object in objects { left[rounds.ends.firstIndex { object.ticks <= $0 } ?? left.count - 1] += 1 }
      let gone = max(0, (rounds.before[type] ?? 0) - left[0])
      let measured = Array(left.dropFirst())
      if measured.allSatisfy({ $0 > 0 }), measured.reduce(0, +) > gone { result[type] = measured }
    }
    return result
  }

  private func conclude(_ measurement: Measurement, _ growing: [UInt32: [Int]]) throws(Allocations.NotRecording) {
    guard !growing.isEmpty else { return }
    var survivors = try measurement.survivors()
    let (names, _) = try TaskScope.types(types)
    var byName: [String: [Int]] = [:]
    for (type, left) in growing {
      let name = names[type]?.name ?? "unknown"
      byName[name] = byName[name].map { zip($0, left).map { $0 + $1 } } ?? left
    }
    survivors.groups.removeAll { byName[$0.type] == nil }
    let trace = KeptTrace.keep(at: site)
    let types = byName.count == 1 ? "1 type grows" : "\(byName.count) types grow"
    var message = Message("\(title): \(types) in each of \(iterations) iterations")
    message.add(survivors.groups, trace) { group in
      let left = byName[group.type] ?? []
      return ", by iteration \(left.map(String.init).joined(separator: " "))"
    }
    message.addUncounted(survivors)
    message.add(trace)
    Frameworks.fail(message.text, at: site)
  }

  private func report(_ error: Allocations.NotRecording) {
    Unrecorded.report(Unrecorded("\(error)"), title, at: site)
  }
  #endif

  /// - Parameter goesOn: asked after each round; false ends it without a verdict.
  func run<Failure: Error>(
    isolation: isolated (any Actor)?, goesOn: () -> Bool = { true }, _ body: () async throws(Failure) -> Void
  ) async throws(Failure) {
    guard let measurement = Measurement(title, of: types, at: site) else { return try await body() }
    defer { measurement.forget() }
    for _ in 0..<warmUp {
      try await body()
      guard goesOn() else { return }
    }
    #if Recording
    var rounds = Rounds()
    do throws(Allocations.NotRecording) {
      rounds.before = try await settledCounts(measurement, isolation: isolation)
    } catch {
      return report(error)
    }
    rounds.ends = [Measurement.ticks]
    #endif
    for _ in 0..<iterations {
      try await body()
      guard goesOn() else { return }
      #if Recording
      rounds.ends.append(Measurement.ticks)
      #endif
    }
    measurement.end()
    #if Recording
    do throws(Allocations.NotRecording) {
      var settling = Settling()
      var growing = try self.growing(measurement, rounds)
      while !growing.isEmpty, await settling.waits(isolation: isolation) {
        growing = try self.growing(measurement, rounds)
      }
      try conclude(measurement, growing)
    } catch {
      report(error)
    }
    #endif
  }

  func run<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
    guard let measurement = Measurement(title, of: types, at: site) else { return try body() }
    defer { measurement.forget() }
    for _ in 0..<warmUp { try body() }
    #if Recording
    var rounds = Rounds()
    do throws(Allocations.NotRecording) {
      rounds.before = try settledCounts(measurement)
    } catch {
      return report(error)
    }
    rounds.ends = [Measurement.ticks]
    #endif
    for _ in 0..<iterations {
      try body()
      #if Recording
      rounds.ends.append(Measurement.ticks)
      #endif
    }
    measurement.end()
    #if Recording
    do throws(Allocations.NotRecording) {
      var settling = Settling()
      var growing = try self.growing(measurement, rounds)
      while !growing.isEmpty, settling.waits() { growing = try self.growing(measurement, rounds) }
      try conclude(measurement, growing)
    } catch {
      report(error)
    }
    #endif
  }

  #if Recording
  /// What the warm-up has left, once nothing of it dies any more.
  private func settledCounts(
    _ measurement: Measurement, isolation: isolated (any Actor)?
  ) async throws(Allocations.NotRecording) -> [UInt32: Int] {
    var settling = Settling(min(Session.settling, 1))
    var counts = try Self.counts(measurement)
    while await settling.waits(isolation: isolation) {
      let now = try Self.counts(measurement)
      if now == counts { break }
      counts = now
    }
    return counts
  }

  private func settledCounts(_ measurement: Measurement) throws(Allocations.NotRecording) -> [UInt32: Int] {
    var settling = Settling(min(Session.settling, 1))
    var counts = try Self.counts(measurement)
    while settling.waits() {
      let now = try Self.counts(measurement)
      if now == counts { break }
      counts = now
    }
    return counts
  }
  #endif
}
