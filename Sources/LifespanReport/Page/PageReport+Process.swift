// The page's sections about the process: its threads, and its resident memory against what lives.
import LifespanAnalysis
import LifespanTrace

extension PageReport {
  func writeThreads(to page: inout PageText, _ tables: PageTables) {
    let rows = facts.threads.rows
    let report = ThreadsReport(facts.threads, subject: subject, names: names)
    func text(_ frame: String?) -> Int { frame.map { tables.text($0) } ?? -1 }
    page.object("threads") { page in
      page.column("thread", rows.map { Int($0.thread.rawValue) })
      page.column("tid", rows.map { Int($0.tid) })
      page.column("name", rows.map { tables.text($0.name) })
      page.column("state", rows.map { tables.text($0.state.rawValue) })
      page.column("born_ns", rows.map(\.born.rawValue))
      page.column("ended_ns", rows.map { $0.ended?.rawValue ?? -1 })
      page.column("age_ns", rows.map(\.age))
      page.column("events", rows.map(\.events))
      page.column("creator", rows.map { Int($0.creator?.rawValue ?? 0) })
      page.column("stack_bytes", rows.map { $0.stackBytes?.rawValue ?? -1 })
      page.column("stack", rows.map { $0.isOriginKnown ? tables.stack($0.stack) : -1 })
      page.column("created_by", rows.map { text(report.creation($0)?.function) })
      page.column("start", rows.map { text(report.start($0)?.function) })
      page.strings("remarks", report.remarks)
    }
  }

  func writeSamples(to page: inout PageText) {
    let samples = facts.samples
    guard !samples.isEmpty else { return page.null("resident") }
    page.object("resident") { page in
      page.rising("time_ns", samples.map(\.time.rawValue))
      page.column("resident", samples.map(\.resident.rawValue))
      page.column("heap", samples.map { $0.heap?.rawValue ?? -1 })
      page.column("living_count", samples.map(\.livingCount))
      page.column("living_bytes", samples.map(\.livingBytes.rawValue))
      page.column("living_footprint", samples.map(\.livingFootprint.rawValue))
      page.bool("whole_heap", facts.resident?.isWholeHeap ?? false)
      page.strings("text", facts.resident.map { ResidentText.sentences($0) } ?? [])
    }
  }
}
