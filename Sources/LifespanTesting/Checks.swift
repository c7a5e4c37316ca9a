// What the assertions have in common: measure a body, wait until it is as it should be, say what is not. Called by the public functions,
// each in a synchronous and an asynchronous form.
internal import Foundation
import Lifespan

/// A number of objects of the body that must live at its end.
struct LiveCountCheck {
  let title: String
  let types: Allocations.Types
  let expected: Int
  let site: CallSite

  #if Recording
  func isMet(_ survivors: Survivors?) -> Bool { survivors.map { $0.count <= expected } ?? true }

  func conclude(_ measurement: Measurement, _ survivors: Survivors?) {
    guard let survivors, survivors.count != expected else { return }
    let trace = KeptTrace.keep(at: site)
    let count = survivors.count
    var message = Message("\(title): \(count) object\(count == 1 ? " lives" : "s live"), \(expected) expected")
    message.add(survivors.groups, trace)
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
    measurement.end()
    #if Recording
    var settling = Settling()
    var survivors = measurement.look()
    while !isMet(survivors), await settling.waits(isolation: isolation) { survivors = measurement.look() }
    conclude(measurement, survivors)
    #endif
  }

  func run<Failure: Error>(_ body: () throws(Failure) -> Void) throws(Failure) {
    guard let measurement = Measurement(title, of: types, at: site) else { return try body() }
    defer { measurement.forget() }
    try body()
    measurement.end()
    #if Recording
    var settling = Settling()
    var survivors = measurement.look()
    while !isMet(survivors), settling.waits() { survivors = measurement.look() }
    conclude(measurement, survivors)
    #endif
  }
}

/// The object that the body gives must die.
struct ReleasedCheck {
  let title: String
  let within: Duration
  let site: CallSite

  func run<Object: AnyObject, Failure: Error>(
    isolation: isolated (any Actor)?, _ body: () async throws(Failure) -> Object?
  ) async throws(Failure) {
    let released = Weak()
    released.object = try await body()
    guard isRecorded else { return }
    var settling = Settling(Seconds.of(within))
    while released.object != nil, await settling.waits(isolation: isolation) {}
    if let (inverted, name) = released.target { fail(inverted, name) }
  }

  func run<Object: AnyObject, Failure: Error>(_ body: () throws(Failure) -> Object?) throws(Failure) {
    let released = Weak()
    released.object = try body()
    guard isRecorded else { return }
    var settling = Settling(Seconds.of(within))
    while released.object != nil, settling.waits() {}
    if let (inverted, name) = released.target { fail(inverted, name) }
  }

  private final class Weak {
    weak var object: AnyObject?

    /// Its address, inverted, and its type: nothing of ours holds it while it is looked at.
    var target: (inverted: UInt64, type: String)? {
      object.map { (~UInt64(UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque())), Names.of(type(of: $0))) }
    }
  }

  /// Whether there is anything to say; it is said where not.
  var isRecorded: Bool {
    do {
      try Session.checkRecording(of: .all)
      return true
    } catch {
      Unrecorded.report(error, title, at: site)
      return false
    }
  }

  func fail(_ inverted: UInt64, _ name: String) {
    #if Recording
    let trace = KeptTrace.keep(at: site)
    var message = Message("\(title): \(name) lives \(Seconds.text(Seconds.of(within))) after the body was over")
    if let recorded = TaskScope.object(at: ~inverted) {
      let group = Survivors.Group(
        type: name, count: 1, bytes: recorded.bytes, serials: [recorded.serial], inverted: inverted,
        stack: recorded.stack
      )
      let references = Allocations.strongReferences(to: ~inverted)
      message.add([group], trace) { _ in references.map { ", \($0) strong reference\($0 == 1 ? "" : "s")" } ?? "" }
    } else {
      message.add("  its birth was not recorded: it is older than the recording, or no heap object")
    }
    message.add(trace)
    Frameworks.fail(message.text, at: site)
    #endif
  }
}

enum Seconds {
  static func of(_ duration: Duration) -> Double {
    Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
  }

  static func text(_ seconds: Double) -> String {
    if seconds < 1 { return "\(Int((seconds * 1000).rounded())) ms" }
    let tenths = (seconds * 10).rounded() / 10
    return tenths == tenths.rounded() ? "\(Int(tenths)) s" : "\(tenths) s"
  }
}

/// At most so many births, or retains, in a body.
struct TallyCheck {
  enum Counted: String {
    case allocations = "allocation"
    case retains = "retain"
  }
  let title: String
  let types: Allocations.Types
  let counted: Counted
  let limit: Int
  let site: CallSite

  private func begin() -> Measurement? {
    #if Recording
    if counted == .retains, Allocations.capture != nil, !TaskScope.countsReferences {
      let cause = Session.countsReferences ? "record with --events refcounts" : "LIFESPAN_REFCOUNTS=0 is set"
      Unrecorded.report(Unrecorded("reference counts are not recorded: \(cause)"), title, at: site)
      return nil
    }
    #endif
    return Measurement(title, of: types, tallied: true, at: site)
  }

  private func conclude(_ measurement: Measurement) {
    #if Recording
    do throws(Allocations.NotRecording) {
      let rows = try measurement.tally().map { ($0.type, counted == .retains ? $0.retains : $0.births) }
        .filter { $0.1 > 0 }.sorted { ($1.1, $0.0) < ($0.1, $1.0) }
      let count = rows.reduce(0) { $0 + $1.1 }
      guard count > limit else { return }
      var message = Message("\(title): \(count) \(counted.rawValue)\(count == 1 ? "" : "s"), at most \(limit) expected")
      for row in rows.prefix(Message.mostTypes) { message.add("  \(row.1) × \(row.0)") }
      if rows.count > Message.mostTypes {
        let rest = rows.dropFirst(Message.mostTypes).reduce(0) { $0 + $1.1 }
        message.add("  \(rest) × \(rows.count - Message.mostTypes) more types")
      }
      let survivors = try measurement.survivors()
      let trace = KeptTrace.keep(at: site)
      if !survivors.groups.isEmpty {
        message.add("  of these live now")
        message.add(survivors.groups, trace)
      }
      message.add(trace)
      Frameworks.fail(message.text, at: site)
    } catch {
      Unrecorded.report(Unrecorded("\(error)"), title, at: site)
    }
    #endif
  }

  func run<Value, Failure: Error>(
    isolation: isolated (any Actor)?, _ body: () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    guard let measurement = begin() else { return try await body() }
    defer { measurement.forget() }
    let value = try await body()
    measurement.end()
    conclude(measurement)
    return value
  }

  func run<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    guard let measurement = begin() else { return try body() }
    defer { measurement.forget() }
    let value = try body()
    measurement.end()
    conclude(measurement)
    return value
  }
}

#if Recording
extension Measurement {
  /// What lives; nil where that can't be said, which has been reported.
  func look() -> Survivors? {
    do {
      return try survivors()
    } catch {
      Unrecorded.report(Unrecorded("\(error)"), title, at: site)
      return nil
    }
  }
}
#endif
