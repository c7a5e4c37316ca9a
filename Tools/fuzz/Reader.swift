// libFuzzer's target for everything that reads a trace: the reader, every question, every renderer, `dump`. Any bytes: a
// trap, a hang or memory beyond the bound is a finding, and so is output that is no JSON or speaks to a terminal.
// Compiled by Tools/fuzz/run; its inputs are made by trace_mutator.c.
import LifespanAnalysis
import LifespanHeap
import LifespanReport
import LifespanSymbols
import LifespanTrace

/// Names without files: what LifespanSymbols does with an image is another target.
private final class NumberNamer: FrameNamer {
  func frame(at location: CodeLocation) -> Frame {
    let address = location.address.value
    return Frame(
      function: address % 3 == 0 ? "Program.init() \(address % 16)" : "f\(address % 64)", offset: address % 7,
      module: location.image?.moduleName ?? "?", origin: address % 2 == 0 ? .program : .system)
  }
  let notes: [SymbolNote] = []
}

/// One recording's questions and reports.
private struct Reading {
  let analysis: Analysis
  let names: ReportNames

  init(_ bytes: [UInt8], laterMarks: [LaterMark]) throws(TraceError) {
    let trace = try Trace(TraceMemory(bytes))
    let names = ReportNames(stacks: TraceStacks(trace), symbolizer: NumberNamer())
    self.names = names
    analysis = Analysis(
      trace, laterMarks: laterMarks, asOf: laterMarks.isEmpty ? nil : TraceTime(5_000_000),
      naming: RowNaming(
        function: { names.functionName(at: $0) },
        blockOwner: laterMarks.isEmpty ? nil : { names.blockOwner(of: $0) }))
  }

  /// One of the stretches that a question may look at.
  private func window(_ number: UInt32) -> TimeWindow {
    let marks = (try? analysis.information())?.marks.map { Moment.mark($0.name) } ?? []
    let times = [TraceTime(0), TraceTime(2000), TraceTime(Int64.max)].map { Moment.time($0) }
    switch number {
    case 0: return .whole
    case 1: return TimeWindow(from: marks.first, to: times[2])
    default: return TimeWindow(from: times[0], to: marks.last ?? times[1])
    }
  }

  /// Some of what can be asked, which of it the trace's pid says: all of it at once would be a tenth as many inputs.
  func ask() throws {
    let choice = analysis.trace.header.pid
    let window = window(choice / 4 % 3)
    switch choice % 4 {
    case 0: try showStatistics(window)
    case 1: try showGenerations(window)
    case 2: try showObjects(window)
    default: try dump()
    }
    try showPictures()
  }

  /// What each picture of the heap tells.
  private func showPictures() throws {
    let trace = analysis.trace
    for place in trace.heapPictures.indices.prefix(2) {
      guard let graph = try? trace.heapGraph(place), let heap = try? Heap(graph, analysis) else { continue }
      let subject = try subject(.whole)
      let leaks = LeaksReport(heap, subject: subject, names: names)
      Checks.text(leaks.render(ReportOptions()))
      Checks.json(leaks.render(ReportOptions(format: .json)))
      Checks.text(DotExport(leaks).text)
      for selector in [HeapSelector.type("*"), .serial(SerialNumber(3)), .address(ObjectAddress(0x1000))] {
        guard let holders = try? heap.holders(of: selector, allPaths: place == 0, limit: 5) else { continue }
        let report = HoldersReport(
          heap, holders, subject: subject, names: names, allPaths: place == 0, retainedByType: true)
        Checks.text(report.render(ReportOptions()))
        Checks.json(report.render(ReportOptions(format: .json)))
        Checks.text(DotExport(holders, names: names).text)
      }
    }
  }

  private func showStatistics(_ window: TimeWindow) throws {
    _ = try? analysis.answer(StatisticsQuestion(types: TypeFilter(include: ["*a*e*"], kinds: [.classInstance])))
    if let statistics = try? analysis.answer(
      StatisticsQuestion(lifespan: .all, window: window, countsTemporary: window != .whole, countsReferences: true))
    {
      let subject = try subject(window)
      show(StatisticsReport.columnKeys) { StatisticsReport(statistics, subject: subject, names: names).render($0) }
    }
    if let difference = try? analysis.answer(
      DifferenceQuestion(from: window.from ?? .time(.start), to: window.to ?? .time(TraceTime(1_000_000))))
    {
      let subject = try subject(window)
      show(DifferenceReport.columnKeys) { DifferenceReport(difference, subject: subject, names: names).render($0) }
    }
  }

  private func showGenerations(_ window: TimeWindow) throws {
    guard
      let generations = try? analysis.answer(
        GenerationsQuestion(window: window, atMark: window != .whole, lifespan: .all))
    else { return }
    let subject = try subject(window)
    show(GenerationsReport.columnKeys(ofOneGeneration: false)) {
      GenerationsReport(generations, subject: subject, names: names).render($0)
    }
    let chosen = generations.closed.first ?? generations.open
    let objects = try? analysis.answer(
      ObjectsQuestion(types: TypeFilter(include: ["*"]), lifespan: .all, generation: chosen.name, window: window))
    show(GenerationsReport.columnKeys(ofOneGeneration: true)) {
      GenerationsReport(generations, chosen: chosen, objects: objects, subject: subject, names: names).render($0)
    }
  }

  private func subject(_ window: TimeWindow) throws -> ReportSubject {
    ReportSubject(
      try analysis.information(), isRunning: window.to == nil, discarded: 1,
      ambiguousMarks: (try? analysis.ambiguousMarks(in: window, generation: nil)) ?? [])
  }

  private func showObjects(_ window: TimeWindow) throws {
    let subject = try subject(window)
    if let threads = try? analysis.answer(ThreadsQuestion(lifespan: window == .whole ? .all : .living)) {
      show(ThreadsReport.columnKeys) { ThreadsReport(threads, subject: subject, names: names).render($0) }
    }
    for lifespan in LifespanFilter.allCases {
      let limit = lifespan == .destroyed ? 3 : nil
      guard let list = try? analysis.answer(ObjectsQuestion(lifespan: lifespan, window: window, limit: limit)) else {
        continue
      }
      show(ObjectsReport.columnKeys) { ObjectsReport(list, subject: subject, names: names).render($0) }
      for object in [list.objects.first, list.objects.last].compactMap({ $0 }) {
        var selectors = [ObjectSelector.serial(object.serial)]
        if let address = object.address { selectors.append(.address(address)) }
        for selector in selectors {
          guard let history = try? analysis.history(of: selector) else { continue }
          let report = HistoryReport(history, subject: subject, names: names)
          Checks.text(report.render(ReportOptions()))
          Checks.json(report.render(ReportOptions(format: .json)))
        }
      }
    }
    _ = try? analysis.history(of: .serial(SerialNumber(UInt64.max)))
    _ = try? analysis.history(of: .address(ObjectAddress(0x1000)))
  }

  /// In every form, with every column.
  private func show(_ keys: [String], _ render: (ReportOptions) -> String) {
    Checks.text(render(ReportOptions()))
    Checks.text(render(ReportOptions(columns: keys, sort: keys.last, limit: 7)))
    Checks.text(render(ReportOptions(format: .markdown, sort: keys.first)))
    Checks.json(render(ReportOptions(format: .json)))
    _ = render(ReportOptions(format: .csv, columns: keys))
  }

  private func dump() throws {
    let dump = TraceDump(analysis.trace)
    try dump.write { Checks.text($0) }
    var json: [UInt8] = []
    try dump.writeJSON { json += $0.utf8 }
    Checks.json(json)
  }
}

/// Reads a trace in every way.
private func exercise(_ bytes: [UInt8]) {
  do throws(TraceError) {
    let reading = try Reading(bytes, laterMarks: [])
    Checks.require(reading.analysis.trace.ending.offset <= UInt64(bytes.count), "it stops beyond the file's end")
    try ask(reading)
    // Once more, after a pass may have found damage.
    let later = [LaterMark(time: TraceTime(900)), LaterMark(time: TraceTime(900), name: "two")]
    try ask(Reading(bytes, laterMarks: later))
  } catch {
    Checks.text(error.description + "\n")
    Checks.require(error.offset <= UInt64(bytes.count), "an error beyond the file's end: \(error)")
  }
}

private func ask(_ reading: Reading) throws(TraceError) {
  do {
    try reading.ask()
  } catch let error as TraceError {
    throw error
  } catch let error as Analysis.Failure {
    Checks.text(error.description + "\n")
  } catch {
    Checks.require(false, "an error that has no type: \(error)")
  }
}

/// One input: the bytes of a trace.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
  exercise(Array(UnsafeBufferPointer(start: data, count: size)))
  return 0
}
