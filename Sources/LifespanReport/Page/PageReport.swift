// The report of `lifespan report`: one HTML file with everything in it. Takes the answers of other reports' questions; its
// sections stand beside it, the viewer is the command's.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// A page, ready to be written.
public struct PageReport {
  /// The answers that it shows. Statistics, generations and sites of all lifespans: the viewer filters.
  public struct Facts {
    /// By type.
    public var statistics: Statistics
    /// By generation.
    public var generations: Generations
    /// By generation, type and stack.
    public var sites: GenerationSites
    /// Over time.
    public var curve: LivingCurve
    /// All threads.
    public var threads: ThreadList
    /// Resident memory: the samples of the trace.
    public var samples: [ResidentMemory.Sample]
    /// What is to be said of them.
    public var resident: ResidentMemory?
    /// Single objects; nil: none were asked for.
    public var objects: PageObjects?
    /// The newest picture of the heap; nil where the trace has none.
    public var heap: Heap?
    /// Who holds the types that live in it.
    public var holders: [PageHolders]

    /// Memberwise.
    public init(
      statistics: Statistics, generations: Generations, sites: GenerationSites, curve: LivingCurve,
      threads: ThreadList, samples: [ResidentMemory.Sample] = [], resident: ResidentMemory? = nil,
      objects: PageObjects? = nil, heap: Heap? = nil, holders: [PageHolders] = []
    ) {
      self.objects = objects
      self.heap = heap
      self.holders = holders
      self.statistics = statistics
      self.generations = generations
      self.sites = sites
      self.curve = curve
      self.threads = threads
      self.samples = samples
      self.resident = resident
    }
  }

  let facts: Facts
  let subject: ReportSubject
  let names: ReportNames

  /// A page of answers.
  public init(_ facts: Facts, subject: ReportSubject, names: ReportNames) {
    self.facts = facts
    self.subject = subject
    self.names = names
  }

  /// The file's bytes.
  public func html(_ viewer: PageViewer) -> [UInt8] {
    PageDocument.html(viewer, title: Preface.programName(subject.information) + " – Lifespan", data: json())
  }

  /// The data that the viewer reads.
  func json() -> [UInt8] {
    let tables = PageTables(names: names)
    var page = PageText()
    page.object { page in
      page.number("page", 1)
      writeHead(to: &page)
      writeCurve(to: &page, tables)
      writeStatistics(to: &page, tables)
      writeGenerations(to: &page, tables)
      writeThreads(to: &page, tables)
      writeSamples(to: &page)
      writeObjects(to: &page, tables)
      writeHeap(to: &page, tables)
      tables.write(to: &page)
      // What could not be named is known when everything has been.
      page.strings("symbol_notes", names.notes.map(\.printable))
    }
    return page.bytes
  }

  private func writeHead(to page: inout PageText) {
    let information = subject.information
    page.object("head") { page in
      page.string("program", Preface.programName(information).printable)
      page.string("arguments", information.arguments.printable)
      page.number("pid", Int64(information.pid))
      page.string("started_at", information.startedAt.printable)
      page.string("capture", information.effectiveCapture.rawValue)
      page.string("headline", Preface.headline(subject).printable)
      page.number("events", Int64(clamping: information.eventsRecorded))
      page.number("lost", Int64(clamping: information.lost.total))
      page.number("end_ns", information.end.rawValue)
      page.bool("running", subject.isRunning)
      page.strings("notes", Preface.asides(subject).map(\.printable))
      page.string("recorder", information.recorder.printable)
    }
  }
}
