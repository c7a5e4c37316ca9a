// A thread in the rows of other reports: by its name, where it has one.
import LifespanAnalysis
import LifespanTrace

/// Names of threads.
struct ThreadNames {
  private let names: [ThreadID: String]

  init(_ threads: ThreadList?) {
    names = Dictionary((threads?.rows ?? []).map { ($0.thread, $0.name) }) { $1 }
  }

  /// `main thread`, `thread 2: worker`, `thread 3`.
  func name(of thread: ThreadID) -> String {
    switch thread {
    case .unknown: return "(thread not known)"
    case .main: return "main thread"
    default:
      let name = names[thread] ?? ""
      return "thread \(thread.rawValue)" + (name.isEmpty ? "" : ": \(name)")
    }
  }
}
