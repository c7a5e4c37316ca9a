// Objects that outlive the time that they were expected to have, and who the message says holds them: alone, where that must be asked
// for, and under `lifespan record`. Used by main.swift.
import Glibc
import Lifespan

private final class HeldTooLong { var value = 1 }
private final class LostA { var next: LostB? }
private final class LostB { var back: LostA? }
private final class OfRequest { var value = 1 }

nonisolated(unsafe) private var holdsTooLong: [HeldTooLong] = []
nonisolated(unsafe) private var requests: [OfRequest] = []

private final class Told: @unchecked Sendable {
  private var mutex = pthread_mutex_t()
  private var list: [Allocations.Finding] = []

  func add(_ finding: Allocations.Finding) {
    pthread_mutex_lock(&mutex)
    list.append(finding)
    pthread_mutex_unlock(&mutex)
  }

  /// Waits for it, and takes it out.
  func next() -> Allocations.Finding {
    while true {
      pthread_mutex_lock(&mutex)
      let first = list.isEmpty ? nil : list.removeFirst()
      pthread_mutex_unlock(&mutex)
      if let first { return first }
      usleep(2_000)
    }
  }

  func survivor() -> Allocations.Survivor? {
    if case .survivor(let survivor) = next() { survivor } else { nil }
  }
}

private let told = Told()

@inline(never) private func keep(_ reason: String) {
  let object = HeldTooLong()
  holdsTooLong.append(object)
  Allocations.expectRelease(of: object, within: .milliseconds(1), reason: reason)
}

@inline(never) private func lose() {
  let (a, b) = (LostA(), LostB())
  (a.next, b.back) = (b, a)
  Allocations.expectRelease(of: a, within: .milliseconds(1), reason: "lost")
}

/// Whether a path begins at a variable. A stripped program has no names of variables.
private func isVariable(_ name: String, _ path: [String]) -> Bool {
  guard let first = path.first, first.hasPrefix("global ") else { return false }
  return isStripped || first.contains(name)
}

private func checkHeld(_ survivor: Allocations.Survivor?, _ what: String) {
  equal(survivor?.reach, .reachable, "\(what): reach, of \(survivor?.description ?? "nothing")")
  equal(survivor.map { isVariable("holdsTooLong", $0.path) }, true, "\(what): begin of \(survivor?.path ?? [])")
  equal(survivor?.path.last, "linked.HeldTooLong", "\(what): end of the path")
  equal(survivor?.unknownHolder, nil, "\(what): nothing is unknown")
  equal(survivor?.description.contains("; held by global "), true, "\(what): line")
}

/// On a stack of its own, so that none of this lies in later frames.
private func apart(_ body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?) {
  pthread_join(thread(body), nil)
}

func checkSurvivors() {
  Allocations.handleFindings(.callback { told.add($0) })
  for number in 0..<2 {
    keep("as it is")
    let survivor = told.survivor()
    if byCommand {
      checkHeld(survivor, "under record")
    } else {
      // No thread is interrupted where nobody asked for it; how to ask is said once.
      equal(survivor?.path, [], "not asked: path")
      equal(survivor?.reach, nil, "not asked: reach")
      equal(survivor?.unknownHolder?.contains("lookingForHolders: true"), number == 0 ? true : nil, "not asked: how")
    }
  }
  Allocations.handleFindings(.callback { told.add($0) }, lookingForHolders: true)
  keep("asked")
  checkHeld(told.survivor(), "asked")
  apart { _ in
    lose()
    return nil
  }
  let lost = told.survivor()
  equal(lost?.reach, .unreachable, "lost: reach, of \(lost?.description ?? "nothing")")
  equal(
    lost?.description.contains("; held by nobody, it is leaked: linked."), true, "lost: line \(lost?.description ?? "")"
  )
  Allocations.withScope("GET /", of: .type(OfRequest.self), expectReleasedWithin: .milliseconds(1)) {
    requests = [OfRequest()]
  }
  if case .scopeSurvivors(let left) = told.next() {
    equal(left.rows.first.map { isVariable("requests", $0.path) }, true, "scope: \(left.description)")
    equal(left.description.contains("held by global "), true, "scope: line \(left.description)")
  } else {
    equal("another finding", "the scope's", "scope")
  }
  Allocations.handleFindings(.callback { told.add($0) }, lookingForHolders: false)
  keep("never")
  equal(told.survivor()?.path, [], "never: path")
  Allocations.handleFindings(.log)
}
