// Where in a running process reference counts are changed and recorded: a thread that stands there is between a record and what it records.
// Used by RefcountVerifier and HeapPictures.

import CSession
import Glibc

/// The stretches of code of one process; remembers what its files hold.
struct ProcessCode {
  private struct Mapping {
    let start: UInt64
    let end: UInt64
    let isCode: Bool
    let path: String
  }

  private struct Functions {
    /// Addresses of the file, relative to its first.
    let ranges: [Range<UInt64>]
  }

  private var files: [String: Functions] = [:]

  /// The recorder's own code, the copies of the entries that it replaced, and the runtime's functions that count.
  mutating func refcounting(of pid: Int32) -> [session_code] {
    var code: [session_code] = []
    var bases: [String: UInt64] = [:]
    for mapping in Self.mappings(of: pid) {
      let path = mapping.path
      let base = bases[path] ?? mapping.start
      bases[path] = base
      guard mapping.isCode else { continue }
      let name = FilePath.name(path)
      if name.hasPrefix("liblifespan_preload") {
        code.append(session_code(start: mapping.start, end: mapping.end, calls_out: true))
      } else if path.isEmpty {
        code.append(session_code(start: mapping.start, end: mapping.end, calls_out: false))
      } else if name.hasPrefix("libswiftCore.so") || !name.contains(".so") {
        let ranges = functions(of: path)
        // A runtime without symbols of its private functions: all of it.
        if ranges.isEmpty, name.hasPrefix("libswiftCore.so") {
          code.append(session_code(start: mapping.start, end: mapping.end, calls_out: false))
        }
        code += ranges.map {
          session_code(start: $0.lowerBound &+ base, end: $0.upperBound &+ base, calls_out: false)
        }
      }
    }
    return code
  }

  /// The recorder's own code alone: a thread that stands there is between an allocation and what tells of it.
  mutating func recording(of pid: Int32) -> [session_code] {
    Self.mappings(of: pid).compactMap { mapping in
      guard mapping.isCode, mapping.path.isEmpty || FilePath.name(mapping.path).hasPrefix("liblifespan_preload") else {
        return nil
      }
      return session_code(start: mapping.start, end: mapping.end, calls_out: !mapping.path.isEmpty)
    }
  }

  private mutating func functions(of path: String) -> [Range<UInt64>] {
    if let known = files[path] { return known.ranges }
    let file = ElfFile(path: path)
    let first = file?.firstAddress ?? 0
    let exported = file?.functions(beginning: ["swift_"], holding: Self.entries) ?? []
    let local =
      file?.functions(beginning: ["_ZN5swift", "_ZL"], holding: ["RefCount", "WeakReference", "swift_re"]) ?? []
    let ranges = (exported + local).map { ($0.lowerBound &- first)..<($0.upperBound &- first) }
    files[path] = Functions(ranges: Self.joined(ranges))
    return files[path]?.ranges ?? []
  }

  private static let entries = ["etain", "elease", "weak", "unowned", "setDealloc", "makeBoxUnique"]

  /// Neighbours as one: there is little but padding between them.
  private static func joined(_ ranges: [Range<UInt64>]) -> [Range<UInt64>] {
    var joined: [Range<UInt64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, range.lowerBound <= last.upperBound &+ 64 {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    return joined
  }

  private static func mappings(of pid: Int32) -> [Mapping] {
    String(decoding: ProcessFacts.contents("/proc/\(pid)/maps"), as: UTF8.self).split(separator: "\n").compactMap {
      line in
      let words = line.split(separator: " ", maxSplits: 5)
      guard words.count >= 5 else { return nil }
      let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
      guard ends.count == 2 else { return nil }
      let path = words.count > 5 ? String(words[5].drop { $0 == " " }) : ""
      return Mapping(start: ends[0], end: ends[1], isCode: words[1].dropFirst(2).hasPrefix("x"), path: path)
    }
  }
}
