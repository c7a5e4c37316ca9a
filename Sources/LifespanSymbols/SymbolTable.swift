// The functions of one ELF file, sorted by address. Filled by ElfFile, asked by Symbolizer.

/// Functions by address. Sizes are respected: an address outside every function has no name, whatever lies nearest.
struct SymbolTable {
  /// One function's place.
  struct Entry {
    let start: UInt64
    let end: UInt64
    let nameOffset: Int
    /// Highest `end` of this and all entries before, which tells a search when no enclosing function can follow.
    var reach: UInt64 = 0
  }

  /// A function found.
  struct Match {
    let mangled: String
    let start: UInt64
  }

  private let entries: [Entry]
  private let names: [UInt8]

  /// Whether private functions are in it too (`.symtab`), or only what the image exports (`.dynsym`).
  let isComplete: Bool

  init(entries: [Entry], names: [UInt8], isComplete: Bool) {
    var sorted = entries.sorted { ($0.start, $0.end) < ($1.start, $1.end) }
    var reach: UInt64 = 0
    for index in sorted.indices {
      reach = max(reach, sorted[index].end)
      sorted[index].reach = reach
    }
    self.entries = sorted
    self.names = names
    self.isComplete = isComplete
  }

  var isEmpty: Bool { entries.isEmpty }

  /// The innermost function that holds `address`.
  func function(at address: UInt64) -> Match? {
    var index = firstIndex(startingAfter: address) - 1
    while index >= 0, entries[index].reach > address {
      if entries[index].end > address { return best(around: index, holding: address) }
      index -= 1
    }
    return nil
  }

  /// Every name of every function that holds `address`. For tests: `function(at:)` takes one.
  func allNames(at address: UInt64) -> Set<String> {
    var names: Set<String> = []
    var index = firstIndex(startingAfter: address) - 1
    while index >= 0, entries[index].reach > address {
      if entries[index].end > address { names.insert(name(at: entries[index].nameOffset)) }
      index -= 1
    }
    return names
  }

  /// From the first function to behind the last one; nil of none.
  var bounds: Range<UInt64>? {
    guard let first = entries.first, let last = entries.last else { return nil }
    return first.start..<last.reach
  }

  /// A function that begins exactly at `address`.
  func function(startingAt address: UInt64) -> Match? {
    let index = firstIndex(startingAfter: address) - 1
    guard index >= 0, entries[index].start == address else { return nil }
    return best(around: index, holding: address)
  }

  private func firstIndex(startingAfter address: UInt64) -> Int {
    var low = 0
    var high = entries.count
    while low < high {
      let middle = (low + high) / 2
      if entries[middle].start <= address { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Of the names that one function has, the one a reader knows: fewest leading underscores, then shortest.
  private func best(around index: Int, holding address: UInt64) -> Match {
    let start = entries[index].start
    var names: [String] = []
    var candidate = index
    while candidate >= 0, entries[candidate].start == start {
      if entries[candidate].end > address { names.append(name(at: entries[candidate].nameOffset)) }
      candidate -= 1
    }
    let chosen = names.min { rank($0) < rank($1) }
    return Match(mangled: chosen ?? name(at: entries[index].nameOffset), start: start)
  }

  private func rank(_ name: String) -> (Int, Int, String) {
    (name.prefix { $0 == "_" }.count, name.utf8.count, name)
  }

  private func name(at offset: Int) -> String {
    guard offset < names.count else { return "" }
    let tail = names[offset...]
    return String(decoding: tail.prefix { $0 != 0 }, as: UTF8.self)
  }
}
