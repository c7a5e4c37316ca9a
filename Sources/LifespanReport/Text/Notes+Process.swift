// What a trace says of its process that a reader of its numbers must know: it was forked, it had no Swift runtime. Used by
// Preface.notes.
import LifespanAnalysis

extension Preface {
  static func process(_ information: TraceInformation) -> [String] {
    [fork(information.info), runtime(information.info)].compactMap { $0 }
  }

  private static func fork(_ info: [String: String]) -> String? {
    guard let parent = info["forked_from"] else { return nil }
    let inherited = info["inherited"].flatMap { UInt64($0) } ?? 0
    let time = info["forked_at_ns"].flatMap { Int64($0) } ?? 0
    return "forked from process \(parent) at \(Units.seconds(time)): "
      + "\(Units.things(inherited, "object")) that lived in it \(inherited == 1 ? "is" : "are") counted here, too"
  }

  private static func runtime(_ info: [String: String]) -> String? {
    switch info["swift_runtime"] {
    case "none": return "no Swift runtime: blocks of malloc only"
    case "late":
      let time = info["swift_runtime_at_ns"].flatMap { Int64($0) } ?? 0
      return "the Swift runtime was loaded at \(Units.seconds(time)): Swift objects are known by type from then on"
    default: return nil
    }
  }
}
