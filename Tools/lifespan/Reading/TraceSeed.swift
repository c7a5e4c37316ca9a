// What a trace says, told to a drain that goes on with it: types, stacks, sites, marks, and all that lives at its end.
// Used by RingsRest.
import CDrain
import LifespanTrace

/// The state at the end of a trace. Given to a drain, which frees it.
struct TraceSeed {
  let drain: OpaquePointer
  /// In the trace so far.
  let events: UInt64

  init(_ trace: Trace) throws {
    guard let made = lifespan_drain_seed_create(UInt64(trace.header.startTicks), trace.header.ticksPerSecond) else {
      throw CommandFailure("no memory")
    }
    drain = made
    do {
      var sound = Self.facts(trace, made)
      let living = LivingObjects(trace.sites)
      events = try trace.forEachBatch(.all) { living.take($0) }.events
      living.forEach { object in
        var object = object
        sound = lifespan_drain_seed_object(made, &object) && sound
      }
      guard sound else { throw CommandFailure("\(trace.name): what it says is at odds with itself") }
      var counts = living.counts
      counts.events = events
      counts.lost = trace.gaps.reduce(0) { $0 &+ $1.births &+ $1.deaths &+ $1.others }
      lifespan_drain_seed_counts(made, &counts, living.newest)
    } catch {
      lifespan_drain_destroy(made)
      throw error
    }
  }

  /// False: something makes no sense.
  private static func facts(_ trace: Trace, _ drain: OpaquePointer) -> Bool {
    var sound = true
    for type in trace.types {
      var row = lifespan_type_row(
        type: type.id.rawValue, kind: UInt32(type.kind.rawValue), superclass: type.superclass.rawValue,
        flags: UInt32(truncatingIfNeeded: type.flags), metadata: type.metadata,
        instance_size: UInt32(truncatingIfNeeded: type.instanceSize), name_length: UInt32(type.name.utf8.count))
      sound = lifespan_drain_seed_type(drain, &row, type.caller.rawValue, type.name) && sound
    }
    for site in trace.sites {
      let size = UInt64(clamping: site.size.rawValue)
      sound = lifespan_drain_seed_site(drain, site.type.rawValue, site.stack.rawValue, size) && sound
    }
    for mark in trace.marks {
      sound = lifespan_drain_seed_mark(drain, mark.time.rawValue, mark.name, mark.name.utf8.count) && sound
    }
    return sound
  }
}

/// What lives while the events of a trace go by.
private final class LivingObjects {
  private var objects: [Int: lifespan_seed_object] = [:]
  private(set) var counts = lifespan_drain_counts()
  private(set) var newest: Int64 = 0
  private let sites: [SiteRecord]

  init(_ sites: [SiteRecord]) { self.sites = sites }

  func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      newest = max(newest, batch.times[index])
      let object = batch.objects[index]
      switch batch.kind(index) {
      case .birth: born(object, batch, index)
      case .death, .free, .plainFree, .endNotSeen:
        if let ended = objects.removeValue(forKey: object), !ended.kept { counts.deaths += 1 }
        if batch.kind(index) == .endNotSeen { counts.ends_not_seen += 1 }
      case .deinitEnded:
        if objects[object]?.kept == false { counts.deaths += 1 }
        objects[object]?.kept = true
      case .moved:
        objects[object]?.address = batch.addresses[index]
        objects[object]?.site = batch.sites[index]
        objects[object]?.size = size(of: batch.sites[index])
      default: break
      }
      objects[object]?.events += 1
    }
  }

  private func born(_ object: Int, _ batch: EventBatch, _ index: Int) {
    counts.births = batch.serials[index]
    objects[object] = lifespan_seed_object(
      address: batch.addresses[index], serial: batch.serials[index], size: size(of: batch.sites[index]),
      ticks: batch.times[index], site: batch.sites[index], generation: batch.generations[index],
      thread: batch.threads[index], events: 0, kept: false)
  }

  private func size(of site: UInt32) -> UInt64 {
    sites.indices.contains(Int(site)) ? UInt64(clamping: sites[Int(site)].size.rawValue) : 0
  }

  func forEach(_ use: (lifespan_seed_object) -> Void) { for object in objects.values { use(object) } }
}
