// What a check is: a line on stderr for each difference, and an exit status. Used by main.swift.
import Glibc
import Lifespan

/// Keeps a value alive and out of the optimiser's sight.
nonisolated(unsafe) var kept: [AnyObject] = []

nonisolated(unsafe) private var differences = 0
nonisolated(unsafe) private var checks = 0

func say(_ text: String) {
  var line = text + "\n"
  _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
}

func equal<Value: Equatable>(_ got: Value, _ truth: Value, _ what: String) {
  checks += 1
  guard got != truth else { return }
  differences += 1
  say("DIFFERENCE \(what): \(got), truth \(truth)")
}

func equalCount(_ type: AnyClass, _ truth: Int, _ what: String) {
  do {
    equal(try Allocations.liveCount(of: type), truth, "\(what): living \(type)")
  } catch {
    equal("\(error)", "\(truth)", "\(what): living \(type)")
  }
}

func reason<Value>(_ body: () throws(Allocations.NotRecording) -> Value) -> Allocations.NotRecording.Reason? {
  do {
    _ = try body()
    return nil
  } catch {
    return error.reason
  }
}

func finish() -> Never {
  say("\(checks) checks, \(differences) differences")
  exit(differences == 0 ? 0 : 1)
}
