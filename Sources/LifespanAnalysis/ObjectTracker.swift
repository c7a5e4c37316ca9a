// Follows single objects with all that is known of them. Used by ObjectsQuestion and by Analysis.history.
import LifespanTrace

/// Follows objects and makes their records.
final class ObjectTracker {
  /// One object, as it is followed: 80 bytes.
  struct Life: BitwiseCopyable {
    var site: UInt32
    var stack: UInt32
    var generation: UInt32
    var thread: UInt32
    var born: Int64
    var died: Int64
    /// While it lives: when it was last retained or released, or born.
    var freed: Int64
    var address: UInt64
    var task: UInt64
    var serial: UInt64
    var size: Int64
    /// Its strong count (RunningCount).
    var count: Int32
    var state: UInt8
  }

  /// States of a followed object; 0 is nothing.
  enum State {
    static let none: UInt8 = 0
    static let living: UInt8 = 1
    static let kept: UInt8 = 2
    static let freed: UInt8 = 3
    static let endNotSeen: UInt8 = 4
  }

  private let analysis: Analysis
  /// Keeps following what is gone: a list of everything, in the order of births, needs no other place for it.
  private let keepsGone: Bool
  let maker: RecordMaker
  /// The columns that it needs.
  let columns: EventColumns
  private let living = ObjectTable<Life>(
    empty: Life(
      site: 0, stack: 0, generation: 0, thread: 0, born: 0, died: 0, freed: 0, address: 0, task: 0, serial: 0, size: 0,
      count: RunningCount.unknown, state: State.none))
  // By row.
  private let holdsAll: [Bool]

  init(_ analysis: Analysis, keepsGone: Bool = false) {
    self.analysis = analysis
    self.keepsGone = keepsGone
    maker = RecordMaker(analysis)
    let references = ReferenceRecording(analysis.trace)
    holdsAll = analysis.catalog.rows.map { references.holdsAll($0) }
    let common: EventColumns = [.times, .threads, .tasks, .generations, .addresses, .stacks, .moves, .serials]
    columns = analysis.catalog.rows.contains { references.holds($0) } ? common.union(.amounts) : common
  }

  /// Follows a birth.
  func follow(_ batch: EventBatch, _ index: Int) {
    let site = batch.sites[index]
    let time = batch.times[index]
    living.insert(
      batch.objects[index],
      Life(
        site: site, stack: batch.stacks[index],
        generation: analysis.timeline.generation(file: batch.generations[index], time: time),
        thread: batch.threads[index], born: time, died: 0, freed: time, address: batch.addresses[index],
        task: batch.tasks[index], serial: batch.serials[index], size: analysis.trace.sites[Int(site)].size.rawValue,
        count: firstCount(site), state: State.living))
  }

  private func firstCount(_ site: UInt32) -> Int32 {
    holdsAll[analysis.catalog.rowOfSite[Int(site)]] ? 1 : RunningCount.unknown
  }

  /// Takes another event. Returns the object when its memory is gone. It is then followed no longer, or kept as it is.
  func take(_ batch: EventBatch, _ index: Int) -> Life? {
    let object = batch.objects[index]
    guard let place = living.place(object), place.pointee.state != State.none else { return nil }
    let kind = batch.kind(index)
    let time = batch.times[index]
    switch kind {
    case .deinitEnded where place.pointee.state == State.living:
      place.pointee.state = State.kept
      place.pointee.died = time
    case .retain, .release:
      guard place.pointee.state == State.living else { return nil }
      place.pointee.freed = max(place.pointee.freed, time)
      let isWhole = holdsAll[analysis.catalog.rowOfSite[Int(place.pointee.site)]]
      place.pointee.count = RunningCount.after(kind, batch.amounts[index], place.pointee.count, isWhole: isWhole)
    case .moved where place.pointee.state < State.freed:
      place.pointee.address = batch.addresses[index]
      let site = analysis.trace.sites[Int(batch.sites[index])]
      // A block that turns out to be an object is counted from then on.
      if site.type != analysis.trace.sites[Int(place.pointee.site)].type {
        place.pointee.count = firstCount(batch.sites[index])
      }
      place.pointee.site = batch.sites[index]
      place.pointee.stack = site.stack.rawValue
      place.pointee.size = site.size.rawValue
    case .death, .free, .plainFree, .endNotSeen:
      var life = place.pointee
      guard life.state < State.freed else { return nil }
      if life.state == State.living { life.died = time }
      life.freed = time
      life.state = kind == .endNotSeen ? State.endNotSeen : State.freed
      if keepsGone { place.pointee = life } else { living.remove(object) }
      return life
    default:
      break
    }
    return nil
  }

  /// What is still followed, in the order of births. Nothing is followed afterwards: its memory is given back on the way.
  func drain(_ use: (Life) -> Void) {
    living.drain { _, life in if life.state != State.none { use(life) } }
  }

  /// The record of an object; `end` is the end of the time looked at.
  func record(_ life: Life, end: TraceTime) -> ObjectRecord { maker.record(life, end: end) }
}
