// Which single objects a page holds: a recording has millions, a page a limited number. Chosen by the command, between its two passes.
import LifespanAnalysis
import LifespanTrace

/// The single objects of a page, and how many there are.
public struct PageObjects {
  /// Living ones, then destroyed ones, each in the order of births.
  public var objects: [ObjectRecord]
  /// All living objects.
  public var livingCount: Int
  /// All destroyed ones that can be listed.
  public var destroyedCount: Int
  /// Of each type at most so many living ones, the newest, are here; nil: all are.
  public var newestOfType: Int?
  /// What happened to them.
  public var histories = Histories(entries: [])
  /// Of one object at most so many events are here.
  public static let eventsShown = 200

  /// At most `limit` living objects, of each type the newest, so that every type has some; and `destroyed` as they are.
  public init(living: ObjectList, destroyed: ObjectList, limit: Int) {
    livingCount = living.count
    destroyedCount = destroyed.count
    if living.objects.count <= limit {
      objects = Array(living.objects)
    } else {
      var counts: [TypeIdentity: Int] = [:]
      for group in living.groups { counts[group.type, default: 0] += group.count }
      let share = Self.share(of: Array(counts.values), limit: limit)
      newestOfType = share
      var left = counts.mapValues { min($0, share) }
      var chosen: [ObjectRecord] = []
      for object in living.objects.reversed() {
        guard let rest = left[object.type], rest > 0 else { continue }
        left[object.type] = rest - 1
        chosen.append(object)
      }
      objects = chosen.reversed()
    }
    objects += destroyed.objects
  }

  /// The largest number that each may have so that all together have at most `limit`.
  static func share(of counts: [Int], limit: Int) -> Int {
    var low = 0
    var high = limit
    while low < high {
      let middle = (low + high + 1) / 2
      if counts.reduce(0, { $0 + min($1, middle) }) <= limit { low = middle } else { high = middle - 1 }
    }
    return low
  }

  /// The question that fills `histories`.
  public var question: HistoriesQuestion {
    HistoriesQuestion(serials: objects.map(\.serial).sorted(), limit: Self.eventsShown)
  }
}

extension PageReport {
  func writeObjects(to page: inout PageText, _ tables: PageTables) {
    guard let chosen = facts.objects else { return page.null("objects") }
    let objects = chosen.objects
    page.object("objects") { page in
      page.rising("serial", objects.map { Int64(clamping: $0.serial.rawValue) })
      page.column("address", objects.map { $0.address.map { Int64(clamping: $0.rawValue) } ?? -1 })
      page.column("type", objects.map { tables.type($0.type) })
      page.column("size", objects.map(\.size.rawValue))
      page.rising("born_ns", objects.map(\.born.rawValue))
      page.column("died_ns", objects.map { $0.died?.rawValue ?? -1 })
      page.column("age_ns", objects.map(\.age))
      page.column("thread", objects.map { Int($0.thread.rawValue) })
      page.column("task", objects.map { $0.task.map { Int64(clamping: $0.rawValue) } ?? -1 })
      page.column("stack", objects.map { tables.stack($0.stack) })
      page.column("generation", objects.map { Int($0.generation.rawValue) })
      page.column("state", objects.map { tables.text(ObjectsText.state($0.state)) })
      page.column("retain_count", objects.map { $0.retainCount ?? -1 })
      page.number("living_count", chosen.livingCount)
      page.number("destroyed_count", chosen.destroyedCount)
      page.number("newest_of_type", chosen.newestOfType.map { Int64($0) })
      page.bool("refcounts", subject.information.info["refcounts"] == "all")
    }
    writeHistories(chosen, to: &page, tables)
  }

  /// Flat, in the order of objects: `object` is its place in the columns above.
  private func writeHistories(_ chosen: PageObjects, to page: inout PageText, _ tables: PageTables) {
    let places = Dictionary(chosen.objects.enumerated().map { ($1.serial, $0) }) { one, _ in one }
    let events = chosen.histories.entries.flatMap { entry in
      entry.events.map { (object: places[entry.serial] ?? 0, event: $0) }
    }
    page.object("histories") { page in
      page.column("object", events.map(\.object))
      page.column("event", events.map { tables.text(HistoryReport.word($0.event)) })
      page.column("number", events.map(\.event.number))
      page.column("change", events.map(\.event.change))
      page.column("count_after", events.map { $0.event.countAfter ?? -1 })
      page.column("time_ns", events.map(\.event.time.rawValue))
      page.column("thread", events.map { Int($0.event.thread.rawValue) })
      page.column("stack", events.map { tables.stack($0.event.stack) })
      let cut = chosen.histories.entries.filter { $0.count > $0.events.count }
      page.column("cut_object", cut.map { places[$0.serial] ?? 0 })
      page.column("cut_count", cut.map { $0.count - $0.events.count })
    }
  }
}
