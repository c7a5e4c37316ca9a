// The format of speedscope (its file format schema, version 0.0.1): stacks as samples, once weighted by bytes, once by objects.
import LifespanAnalysis
import LifespanSymbols

/// Stacks as two profiles of one document.
public struct SpeedscopeExport {
  private struct Key: Hashable {
    let name: String
    let file: String?
    let line: Int?
  }

  private let sites: [NamedSite]
  private let lifespan: LifespanFilter
  private let name: String

  /// Those sites, named; `name`: of the recording.
  public init(_ sites: AllocationSites, name: String, names: ReportNames) {
    self.sites = sites.named(names)
    lifespan = sites.lifespan
    self.name = name
  }

  /// The document.
  public var text: String {
    var numbers: [Key: Int] = [:]
    var frames: [JSONValue] = []
    func number(_ key: Key) -> JSONValue {
      if let known = numbers[key] { return .integer(Int64(known)) }
      numbers[key] = frames.count
      frames.append(
        .pairs(["name": .string(key.name), "file": .optional(key.file), "line": .optional(key.line)]).withoutNulls)
      return .integer(Int64(frames.count - 1))
    }
    let samples = sites.map { site in
      JSONValue.array(
        (site.frames.map { Key(name: $0.function, file: $0.file, line: $0.line) }
          + [Key(name: site.type, file: nil, line: nil)]).map(number))
    }
    func profile(_ weight: ExportWeight, unit: String) -> JSONValue {
      let weights = sites.map { weight.of($0.tally, lifespan) }
      return .pairs([
        "type": .string("sampled"), "name": .string("\(name): \(lifespan.rawValue), \(weight.rawValue)"),
        "unit": .string(unit), "startValue": .integer(0), "endValue": .integer(weights.reduce(0, &+)),
        "samples": .array(samples), "weights": .array(weights.map { .integer($0) }),
      ])
    }
    let profiles = [profile(.bytes, unit: "bytes"), profile(.count, unit: "none")]
    return JSONValue.pairs([
      "$schema": .string("https://www.speedscope.app/file-format-schema.json"), "exporter": .string("lifespan"),
      "name": .string(name), "activeProfileIndex": .integer(0), "profiles": .array(profiles),
      "shared": .pairs(["frames": .array(frames)]),
    ]).text + "\n"
  }
}

extension JSONValue {
  /// The object without the members that are null.
  fileprivate var withoutNulls: JSONValue { .object(members.filter { $0.value != .null }) }
}
