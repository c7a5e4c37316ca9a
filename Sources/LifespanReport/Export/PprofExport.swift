// The format of pprof (profile.proto of google/pprof): four numbers a stack, as Go's heap profiles have them, and type and generation as labels.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// Stacks as a profile. Not compressed: `go tool pprof` reads it so, others want it in gzip.
public struct PprofExport {
  private let sites: [NamedSite]
  private let start: Int64
  private let duration: Int64
  private let information: TraceInformation

  /// Those sites, named: of all objects, as the numbers of living ones are among them. `start`: nanoseconds since 1970, 0
  /// where that is not known. Generations are labels where sites are kept apart by them and there are marks in `information`.
  public init(
    _ sites: AllocationSites, start: Int64, duration: Int64, names: ReportNames,
    information: TraceInformation = TraceInformation()
  ) {
    self.information = information
    self.sites = sites.named(names)
    self.start = start
    self.duration = duration
  }

  /// What a profile says once and refers to by number.
  private struct Tables {
    struct FunctionKey: Hashable {
      let name: String
      let file: String
    }
    struct LocationKey: Hashable {
      let function: UInt64
      let line: Int
      let module: String
    }

    var strings: [String: UInt64] = ["": 0]
    var texts = [""]
    var functions: [FunctionKey: UInt64] = [:]
    var locations: [LocationKey: UInt64] = [:]
    var mappings: [String: UInt64] = [:]
    var profile = ProtocolBuffer()

    mutating func string(_ text: String) -> UInt64 {
      if let known = strings[text] { return known }
      strings[text] = UInt64(texts.count)
      texts.append(text)
      return UInt64(texts.count - 1)
    }

    mutating func mapping(_ module: String) -> UInt64 {
      if let known = mappings[module] { return known }
      let id = UInt64(mappings.count + 1)
      mappings[module] = id
      var message = ProtocolBuffer()
      message.add(1, id)
      message.add(5, string(module))
      for field in UInt64(7)...10 { message.add(field, UInt64(1)) }
      profile.add(3, message)
      return id
    }

    mutating func function(_ frame: Frame) -> UInt64 {
      let key = FunctionKey(name: frame.function, file: frame.file ?? "")
      if let known = functions[key] { return known }
      let id = UInt64(functions.count + 1)
      functions[key] = id
      var message = ProtocolBuffer()
      message.add(1, id)
      message.add(2, string(key.name))
      message.add(3, string(key.name))
      message.add(4, string(key.file))
      profile.add(5, message)
      return id
    }

    mutating func location(_ frame: Frame) -> UInt64 {
      let function = function(frame)
      let key = LocationKey(function: function, line: frame.line ?? 0, module: frame.module)
      if let known = locations[key] { return known }
      let id = UInt64(locations.count + 1)
      locations[key] = id
      var line = ProtocolBuffer()
      line.add(1, function)
      line.add(2, Int64(key.line))
      var message = ProtocolBuffer()
      message.add(1, id)
      message.add(2, mapping(frame.module))
      message.add(4, line)
      profile.add(4, message)
      return id
    }
  }

  /// Names and units of the four numbers.
  private static let sampleTypes = [
    ("alloc_objects", "count"), ("alloc_space", "bytes"), ("inuse_objects", "count"), ("inuse_space", "bytes"),
  ]

  /// The message.
  public var bytes: [UInt8] {
    var tables = Tables()
    for (type, unit) in Self.sampleTypes { tables.profile.add(1, Self.valueType(type, unit, &tables)) }
    for site in sites { tables.profile.add(2, sample(site, &tables)) }
    tables.profile.add(9, start)
    tables.profile.add(10, duration)
    tables.profile.add(11, Self.valueType("space", "bytes", &tables))
    tables.profile.add(12, Int64(1))
    tables.profile.add(14, tables.string("inuse_space"))
    for text in tables.texts { tables.profile.add(6, bytes: Array(text.utf8)) }
    return tables.profile.bytes
  }

  private static func valueType(_ type: String, _ unit: String, _ tables: inout Tables) -> ProtocolBuffer {
    var message = ProtocolBuffer()
    message.add(1, tables.string(type))
    message.add(2, tables.string(unit))
    return message
  }

  private func sample(_ site: NamedSite, _ tables: inout Tables) -> ProtocolBuffer {
    var frames = Array(site.frames.reversed())
    if frames.isEmpty { frames = [Frame(function: "(\(site.ending ?? "no stack was recorded"))", module: "")] }
    let tally = site.tally
    let numbers = [
      Int64(tally.totalCount), tally.totalBytes.rawValue, Int64(tally.persistentCount), tally.persistentBytes.rawValue,
    ]
    var message = ProtocolBuffer()
    message.add(1, ProtocolBuffer.packed(frames.map { tables.location($0) }))
    message.add(2, ProtocolBuffer.packed(numbers.map { UInt64(bitPattern: $0) }))
    for (key, value) in labels(site) {
      var label = ProtocolBuffer()
      label.add(1, tables.string(key))
      label.add(2, tables.string(value))
      message.add(3, label)
    }
    return message
  }

  private func labels(_ site: NamedSite) -> [(String, String)] {
    guard let generation = site.generation, !information.marks.isEmpty else { return [("type", site.type)] }
    return [
      ("type", site.type), ("generation", GenerationNames.name(of: generation, in: information) ?? "(open)"),
    ]
  }
}
