// Follows objects from birth to death with one tag each: the common part of the questions that sort objects into sets.
// Used by GenerationsQuestion, GrowthQuestion and DifferenceQuestion.
import LifespanTrace

/// What happened to an object that is followed.
struct LifeEvent {
  var site: Int
  /// What the birth was given.
  var tag: UInt32
  var size: ByteCount
  /// Its deinit ended with this event: counts change.
  var ends: Bool
  /// Its memory went with this event: bytes change.
  var frees: Bool
}

/// Everything that lives and is followed, 8 bytes an object.
final class LifeTracker {
  private struct Life: BitwiseCopyable {
    // Site + 1 and the flag of kept memory; 0: nothing.
    var site: UInt32
    var tag: UInt32
  }

  private static let kept: UInt32 = 1 << 31
  private let living = ObjectTable<Life>(empty: Life(site: 0, tag: 0))
  private let sizes: [ByteCount]

  /// The columns that it needs.
  static let columns: EventColumns = .moves

  init(_ sites: [SiteRecord]) { sizes = sites.map(\.size) }

  /// Follows a birth.
  func follow(_ object: Int, site: UInt32, tag: UInt32) { living.insert(object, Life(site: site &+ 1, tag: tag)) }

  /// What an event means; nil when nothing ends by it, or the object isn't followed.
  @inline(__always)
  func take(_ batch: EventBatch, _ index: Int) -> LifeEvent? {
    let kind = batch.kinds[index] & 0x3f
    guard KindSets.has(KindSets.changing, kind) else { return nil }
    let object = batch.objects[index]
    guard let place = living.place(object), place.pointee.site != 0 else { return nil }
    let life = place.pointee
    let isKept = life.site & Self.kept != 0
    if kind == KindSets.moved {
      place.pointee.site = (life.site & Self.kept) | (batch.sites[index] &+ 1)
      return nil
    }
    let frees = kind != KindSets.deinitEnded
    if !frees && isKept { return nil }
    let site = Int(life.site & ~Self.kept) &- 1
    if frees {
      living.remove(object)
    } else {
      place.pointee.site |= Self.kept
    }
    return LifeEvent(site: site, tag: life.tag, size: sizes[site], ends: !isKept, frees: frees)
  }

  /// An object as it is now, if it is followed: `ends` tells that it still lives, `frees` is true, as its memory is still there.
  func life(_ object: Int) -> LifeEvent? {
    guard let place = living.place(object), place.pointee.site != 0 else { return nil }
    return life(place.pointee)
  }

  private func life(_ life: Life) -> LifeEvent {
    let site = Int(life.site & ~Self.kept) &- 1
    return LifeEvent(site: site, tag: life.tag, size: sizes[site], ends: life.site & Self.kept == 0, frees: true)
  }

  /// What is left at the end: `ends` tells that it still lives, `frees` is true, as its memory is still there.
  func forEachLeft(_ use: (LifeEvent) -> Void) {
    living.forEach { object, place in
      if place.pointee.site != 0 { use(life(place.pointee)) }
    }
  }
}
