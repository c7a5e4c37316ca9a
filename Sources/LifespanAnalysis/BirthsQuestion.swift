// Where and in which generation given objects were born, and how many of each type were born in each generation. Asked by
// LifespanHeap for the nodes of a picture.
import LifespanTrace

/// Asks for the births of objects by their serials.
public struct BirthsQuestion: Question, Sendable {
  /// The objects' serials, ascending, none twice.
  public var serials: [UInt64]

  /// Memberwise.
  public init(serials: [UInt64]) { self.serials = serials }

  /// See `Question`.
  public func collector(_ analysis: Analysis) throws(QuestionError) -> Collector<Births> {
    BirthsCollector(serials, analysis)
  }
}

/// The births of given objects, by column.
public struct Births: Sendable, Codable, Equatable {
  /// What stands for a generation or a stack of an object whose birth is not in the recording.
  public static let unknown = UInt32.max
  /// The serials of the question.
  public var serials: [UInt64]
  /// Where each was made.
  public var stacks: [UInt32]
  /// The generation that each was born in.
  public var generations: [UInt32]
  /// All births by row of the catalog and generation, those of the dead with them.
  public var all: [[UInt64]]

  /// The place of a serial; nil where it was not asked for.
  public func place(of serial: UInt64) -> Int? {
    let place = serials.partitionPoint { $0 >= serial }
    return place < serials.count && serials[place] == serial ? place : nil
  }
}

private final class BirthsCollector: Collector<Births> {
  private let analysis: Analysis
  private var births: Births
  private let isRising: Bool
  private var next = 0

  init(_ serials: [UInt64], _ analysis: Analysis) {
    self.analysis = analysis
    let unknown = [UInt32](repeating: Births.unknown, count: serials.count)
    births = Births(serials: serials, stacks: unknown, generations: unknown, all: [])
    births.all = Array(
      repeating: Array(repeating: 0, count: analysis.timeline.marks.count + 1), count: analysis.catalog.rows.count)
    isRising = zip(serials, serials.dropFirst()).allSatisfy { $0 < $1 }
    super.init(analysis.timeline.columns.union([.serials, .stacks, .moves]))
    for total in analysis.trace.totals {
      guard let row = analysis.catalog.row(total.type) else { continue }
      add(total.births, row, analysis.timeline.generation(file: total.generation.rawValue, time: .min))
    }
  }

  private func add(_ count: UInt64, _ row: Int, _ generation: UInt32) {
    guard row < births.all.count, Int(generation) < births.all[row].count else { return }
    births.all[row][Int(generation)] &+= count
  }

  override func take(_ batch: EventBatch) {
    for index in 0..<batch.count {
      let kind = batch.kind(index)
      if kind == .birth {
        let generation = analysis.timeline.generation(file: batch.generations[index], time: batch.times[index])
        add(1, analysis.catalog.rowOfSite[Int(batch.sites[index])], generation)
        if let place = place(batch.serials[index]) {
          births.stacks[place] = batch.stacks[index]
          births.generations[place] = generation
        }
      } else if kind == .moved, batch.objects[index] >= 0, let place = births.place(of: batch.serials[index]) {
        // A block that turned out to be an object, or a new size: made by the stack of the last call.
        let site = Int(batch.sites[index])
        births.stacks[place] = analysis.trace.sites[site].stack.rawValue
        let generation = births.generations[place]
        if generation != Births.unknown { add(1, analysis.catalog.rowOfSite[site], generation) }
      }
    }
  }

  /// Births come in the order of their serials: the question's are walked along with them.
  private func place(_ serial: UInt64) -> Int? {
    guard isRising else { return births.place(of: serial) }
    while next < births.serials.count, births.serials[next] < serial { next += 1 }
    return next < births.serials.count && births.serials[next] == serial ? next : nil
  }

  override func answer(_ information: TraceInformation) -> Births? { births }
}
