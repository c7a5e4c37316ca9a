// What a reader wants to know of objects that stay: where they were made, and what holds one of them. Shared by the reports of
// growth and of one round.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// The holders of suspects, where the recording has a picture of its heap.
struct Suspects {
  private let heap: Heap?
  private var known: [[SerialNumber]: HeapHolding?] = [:]

  /// Looks all of them up at once.
  init(_ rows: [RoundTrip.Row], _ heap: Heap?) {
    self.heap = heap
    guard let heap else { return }
    let lists = rows.filter { $0.type.kind.isOnHeap }.flatMap { $0.sites.map(\.examples) }
    for (list, holding) in zip(lists, heap.holding(oneOf: lists)) { known[list] = .some(holding) }
  }

  /// How one of a stack's suspects is held.
  enum Held {
    /// There is no picture of the heap.
    case noPicture
    /// A thread, a token, a region is held by nothing.
    case notOnHeap
    /// None of them is in it.
    case notInPicture
    /// By this way from a root.
    case path(SerialNumber, HeapPath)
    /// By none: it is leaked.
    case lost(SerialNumber)
    /// It is free memory that a library keeps.
    case free(SerialNumber)
    /// By none that the picture knows of, and it does not know all.
    case unknown(SerialNumber)

    /// The word that documents use.
    var word: String {
      switch self {
      case .noPicture: "no_picture"
      case .notOnHeap: "not_on_heap"
      case .notInPicture: "not_in_picture"
      case .path: "held"
      case .lost: "leaked"
      case .free: "free"
      case .unknown: "unknown"
      }
    }
  }

  func held(_ site: RoundTrip.Site) -> Held {
    guard let heap else { return .noPicture }
    guard let looked = known[site.examples] else { return .notOnHeap }
    guard let holding = looked else { return .notInPicture }
    if holding.isFree { return .free(holding.serial) }
    if let path = holding.path { return .path(holding.serial, path) }
    return heap.leaksWithheld == nil ? .lost(holding.serial) : .unknown(holding.serial)
  }

  /// Which picture was asked; nil where there is none.
  func picture(_ subject: ReportSubject) -> String? {
    heap.map { "\(HeapText.point($0.graph.head, subject)), \(Units.seconds($0.graph.head.time.rawValue))" }
  }

  /// The holder of one of them as lines; none where there is no picture.
  func lines(_ site: RoundTrip.Site, _ names: ReportNames, width: Int) -> [String] {
    switch held(site) {
    case .noPicture, .notOnHeap: return []
    case .notInPicture: return ["  none of them is in the picture of the heap"]
    case .path(let serial, let path):
      return ["  @\(serial) is held by"] + HeapText.lines(path, names, indent: 4, width: width)
    case .lost(let serial): return ["  @\(serial) is leaked: no root reaches it (lifespan leaks)"]
    case .free(let serial): return ["  @\(serial) is free memory that a library keeps for its next use"]
    case .unknown(let serial): return ["  what holds @\(serial) is not known: the picture of the heap is not complete"]
    }
  }

  /// The members that say so.
  func members(_ site: RoundTrip.Site?, _ names: ReportNames) -> [JSONValue.Member] {
    let held = site.map { self.held($0) }
    var path = JSONValue.array([])
    if case .path(_, let way) = held { path = HeapJSON.path(way, names) }
    return JSONValue.pairs([
      "examples": .array((site?.examples ?? []).map { .unsigned($0.rawValue) }),
      "allocated_by": site.map { FrameJSON.stack($0.stack, names) } ?? .array([]),
      "stack_ending": .optional(site.flatMap { names.ending(of: $0.stack) }),
      "holding": .optional(held?.word), "path": path,
    ]).members
  }
}

/// `@12 @13 …`, the newest first.
enum SuspectNumbers {
  static func text(_ site: RoundTrip.Site) -> String {
    site.examples.map { "@\($0)" }.joined(separator: " ") + (site.count > site.examples.count ? " …" : "")
  }
}
