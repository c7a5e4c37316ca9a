// Actors and task groups: `tasks ROUNDS`.
import Dispatch
import Glibc

actor Counter {
  private var names: [String: Int] = [:]
  func add(_ name: String) { names[name, default: 0] += 1 }
  func count() -> Int { names.values.reduce(0, +) }
}

@main enum Program {
  static func main() async {
    let rounds = Int(CommandLine.arguments.dropFirst().first ?? "") ?? 100
    let counter = Counter()
    let start = DispatchTime.now().uptimeNanoseconds
    for _ in 0..<rounds {
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<50 {
          group.addTask { await counter.add("a name that is not small, number \(number % 10)") }
        }
      }
    }
    let whole = Double(DispatchTime.now().uptimeNanoseconds - start)
    guard await counter.count() == rounds * 50 else { fatalError("lost a task") }
    fputs("TOOK \(whole / Double(rounds)) ns a round of 50 tasks\n", stderr)
  }
}
