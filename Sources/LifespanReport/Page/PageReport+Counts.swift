// The page's sections of counts: over time, by type, by generation and stack.
import LifespanAnalysis
import LifespanTrace

extension PageReport {
  func writeCurve(to page: inout PageText, _ tables: PageTables) {
    let curve = facts.curve
    page.object("curve") { page in
      page.number("width_ns", curve.width)
      page.rising("time_ns", curve.steps.map(\.time.rawValue))
      page.column("bytes", curve.steps.map(\.last.bytes.rawValue))
      page.column("count", curve.steps.map(\.last.count))
      page.column("most_bytes", curve.steps.map(\.most.bytes.rawValue))
      page.column("most_count", curve.steps.map(\.most.count))
      page.object("peak") { page in
        page.number("time_ns", curve.peakTime.rawValue)
        page.number("bytes", curve.peak.bytes.rawValue)
        page.number("count", curve.peak.count)
      }
      let discarded = subject.discarded > 0 || subject.information.discarded != nil
      page.string(
        "note", discarded ? "objects that died and were discarded while recording are not in the curve" : nil)
    }
  }

  func writeStatistics(to page: inout PageText, _ tables: PageTables) {
    let statistics = facts.statistics
    page.object("statistics") { page in
      page.column("type", statistics.rows.map { tables.type($0.type) })
      Self.write(statistics.rows.map(\.tally), to: &page)
      page.object("total") { Self.write([statistics.total], to: &$0) }
      page.object("kinds") { page in
        page.column("kind", statistics.totalsByKind.map { tables.text($0.kind.description) })
        Self.write(statistics.totalsByKind.map(\.tally), to: &page)
      }
    }
  }

  /// Closed generations by their numbers, the open one last.
  func writeGenerations(to page: inout PageText, _ tables: PageTables) {
    let all = facts.generations.closed + [facts.generations.open]
    page.object("generations") { page in
      page.column("name", all.map { tables.text($0.name) })
      page.column("time_ns", all.map(\.time.rawValue))
      Self.write(all.map(Self.tally), to: &page)
      page.list("rows") { page in
        for growth in all {
          page.object { page in
            page.column("type", growth.rows.map { tables.type($0.type) })
            Self.write(growth.rows.map(\.tally), to: &page)
          }
        }
      }
    }
    let rows = facts.sites.rows
    page.object("sites") { page in
      page.column("generation", rows.map { Int($0.generation.rawValue) })
      page.column("type", rows.map { tables.type($0.type) })
      page.column("stack", rows.map { tables.stack($0.stack) })
      Self.write(rows.map(\.tally), to: &page)
    }
  }

  private static func tally(_ growth: Generations.Growth) -> Tally {
    Tally(
      persistentCount: growth.persistentCount, persistentBytes: growth.growthBytes,
      transientCount: growth.transientCount, transientBytes: growth.transientBytes, keptCount: growth.keptCount,
      keptBytes: growth.keptBytes)
  }

  /// Totals are sums, which the viewer makes.
  private static func write(_ tallies: [Tally], to page: inout PageText) {
    page.column("persistent_count", tallies.map(\.persistentCount))
    page.column("persistent_bytes", tallies.map(\.persistentBytes.rawValue))
    page.column("transient_count", tallies.map(\.transientCount))
    page.column("transient_bytes", tallies.map(\.transientBytes.rawValue))
    guard tallies.contains(where: { $0.keptCount != 0 }) else { return }
    page.column("kept_count", tallies.map(\.keptCount))
    page.column("kept_bytes", tallies.map(\.keptBytes.rawValue))
  }
}
