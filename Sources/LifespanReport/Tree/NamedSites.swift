// Allocation sites with the names of their functions. Made once, for a call tree or an export.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// What one stack allocated of one type, named.
struct NamedSite {
  /// From the outermost function to the one that allocated; empty where no stack was recorded.
  let frames: [Frame]
  /// Why the stack is not whole.
  let ending: String?
  let type: String
  /// The thread that allocated, where that was asked for.
  let thread: ThreadID?
  /// The generation, where that was asked for.
  let generation: Generation?
  let tally: Tally
}

extension AllocationSites {
  /// The rows with names, each stack named once.
  func named(_ names: ReportNames) -> [NamedSite] {
    var stacks: [StackID: [Frame]] = [:]
    return rows.map { row in
      let frames = stacks[row.stack] ?? names.frames(of: row.stack).reversed()
      stacks[row.stack] = frames
      return NamedSite(
        frames: frames, ending: names.ending(of: row.stack), type: names.name(of: row.type),
        thread: row.thread, generation: row.generation, tally: row.tally)
    }
  }
}
