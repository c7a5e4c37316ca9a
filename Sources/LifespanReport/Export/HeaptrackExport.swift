// The format of heaptrack's data files, version 3: every allocation and every free in their order, so that its programs find peaks and temporary
// allocations themselves. Types, which it does not know, are told as the innermost function. Reading one: heaptrack_print FILE.
import LifespanAnalysis
import LifespanSymbols
import LifespanTrace

/// All allocations of a recording as heaptrack writes them.
public struct HeaptrackExport: Question {
  /// Lines written.
  public typealias Answer = Int

  private let names: ReportNames
  private let types: TypeFilter
  private let program: String
  private let write: (String) -> Void

  /// Of the types that the filter leaves; blocks of the heap alone. `write` gets the file piece by piece.
  public init(types: TypeFilter = TypeFilter(), program: String, names: ReportNames, write: @escaping (String) -> Void)
  {
    self.types = types
    self.program = program
    self.names = names
    self.write = write
  }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Int> {
    let chosen = try analysis.catalog.selection(types)
    let rows = analysis.catalog.rows
    let sites = analysis.catalog.rowOfSite.map { chosen[$0] && rows[$0].kind.isOnHeap }
    return HeaptrackWriter(analysis, sites, program: program, names: names, write: write)
  }
}

private final class HeaptrackWriter: Collector<Int> {
  private struct Step: Hashable {
    let place: Int
    let parent: Int
  }
  private struct Information: Hashable {
    let size: Int64
    let trace: Int
  }

  private static let pageSize: Int64 = 4096
  private static let pieceLength = 1 << 16

  private let analysis: Analysis
  private let chosen: [Bool]
  private let names: ReportNames
  private let write: (String) -> Void
  private let samples: [SampleRecord]
  private var piece = ""
  private var lines = 0
  private var strings: [String: Int] = [:]
  private var places: [[Frame]: Int] = [:]
  private var steps: [Step: Int] = [:]
  private var traces: [StackID: Int] = [:]
  private var informations: [Information: Int] = [:]
  private var informationOfSite: [Int?]
  // By object: what was written of its block.
  private var living: [Int: Int] = [:]
  private var milliseconds: Int64 = 0
  private var nextSample = 0

  init(
    _ analysis: Analysis, _ chosen: [Bool], program: String, names: ReportNames, write: @escaping (String) -> Void
  ) {
    self.analysis = analysis
    self.chosen = chosen
    self.names = names
    self.write = write
    samples = analysis.trace.samples
    informationOfSite = Array(repeating: nil, count: chosen.count)
    super.init([.times, .moves])
    line("v 10400 3")
    line("X \(program.printable)")
    line("I \(Self.hex(Self.pageSize)) 0")
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let object = batch.objects[index]
      switch batch.kinds[index] & 0x3f {
      case EventKind.birth.rawValue: born(object, Int(batch.sites[index]), batch.times[index])
      case EventKind.moved.rawValue:
        guard living[object] != nil else { continue }
        gone(object, batch.times[index])
        born(object, Int(batch.sites[index]), batch.times[index])
      case EventKind.death.rawValue, EventKind.free.rawValue, EventKind.plainFree.rawValue,
        EventKind.endNotSeen.rawValue:
        gone(object, batch.times[index])
      default: break
      }
    }
  }

  override func answer(_ information: TraceInformation) -> Int? {
    advance(to: information.end)
    write(piece)
    piece = ""
    return lines
  }

  // MARK: Events

  private func born(_ object: Int, _ site: Int, _ time: Int64) {
    guard chosen[site] else { return }
    advance(to: analysis.trace.header.time(Ticks(time)))
    let number = information(ofSite: site)
    living[object] = number
    line("+ \(Self.hex(number))")
  }

  private func gone(_ object: Int, _ time: Int64) {
    guard let number = living.removeValue(forKey: object) else { return }
    advance(to: analysis.trace.header.time(Ticks(time)))
    line("- \(Self.hex(number))")
  }

  /// Time goes on in milliseconds; what the system held for the process by then is said with it.
  private func advance(to time: TraceTime) {
    let now = time.rawValue / 1_000_000
    guard now > milliseconds else { return }
    milliseconds = now
    line("c \(Self.hex(now))")
    while nextSample < samples.count, analysis.trace.header.time(samples[nextSample].time) <= time {
      line("R \(Self.hex(samples[nextSample].resident.rawValue / Self.pageSize))")
      nextSample += 1
    }
  }

  // MARK: What is said once

  private func information(ofSite site: Int) -> Int {
    if let known = informationOfSite[site] { return known }
    let record = analysis.trace.sites[site]
    let type = names.name(of: analysis.catalog.rows[analysis.catalog.rowOfSite[site]])
    let kind = Frame(function: type, module: "type")
    let key = Information(size: record.size.rawValue, trace: step([kind], below: trace(record.stack)))
    let number = informations[key] ?? informations.count
    if informations[key] == nil {
      informations[key] = number
      line("a \(Self.hex(key.size)) \(Self.hex(key.trace))")
    }
    informationOfSite[site] = number
    return number
  }

  /// Steps begin with the outermost function; those that were inlined belong to the place where they were.
  private func trace(_ stack: StackID) -> Int {
    if let known = traces[stack] { return known }
    var number = 0
    var place: [Frame] = []
    var pending: [[Frame]] = []
    for frame in names.frames(of: stack) {
      place.append(frame)
      if frame.inlined { continue }
      pending.append(place)
      place = []
    }
    for place in pending.reversed() { number = step(place, below: number) }
    traces[stack] = number
    return number
  }

  private func step(_ place: [Frame], below parent: Int) -> Int {
    let key = Step(place: instruction(place), parent: parent)
    if let known = steps[key] { return known }
    steps[key] = steps.count + 1
    line("t \(Self.hex(key.place)) \(Self.hex(parent))")
    return steps.count
  }

  private func instruction(_ place: [Frame]) -> Int {
    if let known = places[place] { return known }
    var words = ["i", Self.hex(places.count + 1), Self.hex(string(place.last?.module ?? ""))]
    for frame in place {
      words.append(Self.hex(string(frame.function)))
      words.append(Self.hex(frame.file.map(string) ?? 0))
      words.append(Self.hex(frame.line ?? 0))
    }
    line(words.joined(separator: " "))
    places[place] = places.count + 1
    return places.count
  }

  private func string(_ text: String) -> Int {
    if let known = strings[text] { return known }
    let shown = text.printable
    line("s \(Self.hex(shown.utf8.count)) \(shown)")
    strings[text] = strings.count + 1
    return strings.count
  }

  private func line(_ text: String) {
    lines += 1
    piece += text
    piece += "\n"
    guard piece.utf8.count >= Self.pieceLength else { return }
    write(piece)
    piece = ""
  }

  private static func hex(_ number: some BinaryInteger) -> String { String(number, radix: 16) }
}
