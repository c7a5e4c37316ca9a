// Retains and releases by type, and what they leave of the objects that live. A part of StatisticsQuestion.
import LifespanTrace

/// Counts references of the objects that it is told of.
final class ReferenceCounts {
  private struct Life: BitwiseCopyable {
    // Row + 1; 0: nothing.
    var row: Int32
    var count: Int32
  }

  private struct Sums {
    var retains = 0
    var releases = 0
  }

  private let references: ReferenceRecording
  private let rows: [TypeIdentity]
  private let rowOfSite: [Int]
  private var sums: [Sums] = []
  private let living = ObjectTable<Life>(empty: Life(row: 0, count: 0))
  // A thread's last release may stand behind the death that another thread's record told: of what died last it is known
  // what it was. By the low bits of the object.
  private var gone = [(object: Int, row: Int32)](repeating: (-1, 0), count: ReferenceCounts.remembered)
  private static let remembered = 4096

  /// Nil where those of no type were recorded: then there is nothing to count.
  init?(_ analysis: Analysis) {
    references = ReferenceRecording(analysis.trace)
    rows = analysis.catalog.rows
    guard rows.contains(where: references.holds) else { return nil }
    rowOfSite = analysis.catalog.rowOfSite
    sums = Array(repeating: Sums(), count: rows.count)
  }

  func born(_ object: Int, site: Int) { living.insert(object, Life(row: Int32(rowOfSite[site] + 1), count: 1)) }

  /// A block turned out to be an object, or was resized.
  func moved(_ object: Int, site: Int) {
    guard let place = living.place(object), place.pointee.row != 0 else { return }
    place.pointee.row = Int32(rowOfSite[site] + 1)
  }

  func changed(_ object: Int, _ kind: EventKind, _ amount: EventAmount) {
    guard object >= 0 else { return }
    if let place = living.place(object), place.pointee.row != 0 {
      place.pointee.count = RunningCount.after(kind, amount, place.pointee.count, isWhole: true)
      add(kind, amount, to: place.pointee.row)
    } else if gone[object % Self.remembered].object == object {
      add(kind, amount, to: gone[object % Self.remembered].row)
    }
  }

  private func add(_ kind: EventKind, _ amount: EventAmount, to row: Int32) {
    if kind == .retain {
      sums[Int(row) - 1].retains &+= Int(amount.amount)
    } else {
      sums[Int(row) - 1].releases &+= Int(amount.amount)
    }
  }

  /// Its deinit has ended.
  func ended(_ object: Int) {
    guard let place = living.place(object), place.pointee.row != 0 else { return }
    gone[object % Self.remembered] = (object, place.pointee.row)
    living.remove(object)
  }

  /// Adds what was recorded of each row.
  func add(to tallies: inout [Tally]) {
    for row in rows.indices where references.holds(rows[row]) && references.isKept {
      tallies[row].retains = sums[row].retains
      tallies[row].releases = sums[row].releases
      if references.holdsAll(rows[row]) { tallies[row].references = 0 }
    }
    living.forEach { _, place in
      guard place.pointee.row > 0 else { return }
      let row = Int(place.pointee.row) - 1
      if let sum = tallies[row].references { tallies[row].references = sum &+ Int(max(0, place.pointee.count)) }
    }
  }
}
