// The page's section of the newest picture of the heap: what is leaked, what is abandoned, and who holds the types that live.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// Who holds the living objects of one type.
public struct PageHolders {
  var type: TypeIdentity
  var holders: HeapHolders

  /// Of so many types at most a page tells the holders: a question costs a look at the whole picture.
  private static func limit(_ heap: Heap) -> Int { max(4, min(40, 8_000_000 / max(1, heap.nodeCount))) }

  /// The program's own types that have the most living bytes in `statistics`.
  public static func all(_ heap: Heap, _ statistics: Statistics, names: ReportNames) -> [PageHolders] {
    let isToolchains = names.heapNaming.isToolchainType
    let limit = limit(heap)
    var found: [PageHolders] = []
    for row in statistics.rows where row.tally.persistentCount > 0 && row.type.kind.isSwiftObject {
      guard found.count < limit else { break }
      // The name is a pattern; what is not in the picture was born after it.
      guard !row.type.name.isEmpty, !isToolchains(row.type),
        let holders = try? heap.holders(of: .type(row.type.name))
      else { continue }
      found.append(PageHolders(type: row.type, holders: holders))
    }
    return found
  }
}

extension PageReport {
  func writeHeap(to page: inout PageText, _ tables: PageTables) {
    guard let heap = facts.heap else { return page.null("heap") }
    let report = LeaksReport(heap, subject: subject, names: names)
    page.object("heap") { page in
      page.string("picture", HeapText.picture(heap, subject, width: .max).joined(separator: " ").printable)
      page.strings("notes", heap.graph.head.notes.map(\.printable))
      page.string("leaks_withheld", report.leaksWithheld)
      page.string("abandoned_withheld", report.abandonedWithheld)
      page.list("leaks") { page in for group in report.groups { write(group, report, to: &page, tables) } }
      page.list("abandoned") { page in for type in report.abandoned.types { write(type, to: &page, tables) } }
      page.list("holders") { page in for one in facts.holders { write(one, to: &page, tables) } }
    }
  }

  private func write(_ group: LeakGroup, _ report: LeaksReport, to page: inout PageText, _ tables: PageTables) {
    page.object { page in
      page.string("title", report.title(group).printable)
      page.string("kind", group.kind.rawValue)
      page.number("type", tables.type(group.head))
      page.string("fingerprint", group.fingerprint)
      page.bool("toolchain", group.isToolchains)
      page.string("reason", group.reason?.printable)
      page.number("instances", group.instances)
      page.number("count", group.totalCount)
      page.number("bytes", Int64(clamping: group.totalBytes))
      page.strings("cycle", group.cycle.prefix(40).map { HeapText.reference($0, names).printable })
      page.number("cycle_length", group.cycleLength)
      page.column("row_type", group.rows.map { tables.type($0.type) })
      page.column("row_count", group.rows.map(\.count))
      page.column("row_bytes", group.rows.map { Int64(clamping: $0.bytes) })
      page.strings("examples", group.examples.map(HeapText.number))
      page.number("stack", tables.stack(group.stack))
    }
  }

  private func write(_ type: AbandonedType, to page: inout PageText, _ tables: PageTables) {
    page.object { page in
      page.number("type", tables.type(type.type))
      page.string("role", type.role.rawValue)
      page.number("count", type.count)
      page.number("bytes", Int64(clamping: type.bytes))
      page.number("retained", Int64(clamping: type.retainedBytes))
      page.column("per_generation", type.perGeneration)
      page.strings("path", type.path.map(lines) ?? [])
      page.number("stack", tables.stack(type.stack))
    }
  }

  private func write(_ one: PageHolders, to page: inout PageText, _ tables: PageTables) {
    let holders = one.holders
    page.object { page in
      page.number("type", tables.type(one.type))
      page.number("count", holders.count)
      page.number("bytes", Int64(clamping: holders.bytes))
      page.number("retained", Int64(clamping: holders.retainedBytes))
      page.number("unreachable", holders.unreachable)
      page.number("maybe_only", holders.maybeOnly)
      page.number("direct_count", holders.direct.count)
      page.list("direct") { page in
        for holder in holders.direct.prefix(20) {
          page.object { page in
            page.number("count", holder.count)
            page.bool("holds", holder.holds)
            page.string("text", HeapText.reference(holder.step, names).printable)
          }
        }
      }
      page.strings("roots", Array(Set(holders.roots.map { HeapText.root($0).printable }).sorted().prefix(20)))
      page.strings("path", (holders.paths.first ?? holders.leakPath).map(lines) ?? [])
    }
  }

  private func lines(_ path: HeapPath) -> [String] {
    HeapText.lines(path, names, indent: 0, width: .max).map(\.printable)
  }
}
