// The report of `lifespan leaks`: what is leaked and what is abandoned. Sorts out what is suppressed and what is known; text,
// JSON and JUnit stand beside it.
import LifespanAnalysis
import LifespanHeap
import LifespanTrace

/// Leaks and abandoned objects of one picture, ready to be written.
public struct LeaksReport {
  /// A rule that took leaks out.
  public struct Suppressed: Sendable, Equatable {
    /// The rule.
    public var rule: Suppressions.Rule
    /// Leaks that it took out.
    public var count: Int
    /// Their bytes.
    public var bytes: UInt64
  }

  let heap: Heap
  let leaks: HeapLeaks
  let abandoned: HeapAbandoned
  let subject: ReportSubject
  let names: ReportNames
  let baseline: LeakBaseline?
  /// Groups that no rule took out.
  let groups: [LeakGroup]
  let suppressed: [Suppressed]
  /// Shows each allocating stack and at most so many rows below a leak.
  static let rowsShown = 8

  /// A report of a picture.
  public init(
    _ heap: Heap, subject: ReportSubject, names: ReportNames, suppressions: Suppressions = Suppressions(),
    baseline: LeakBaseline? = nil
  ) {
    self.heap = heap
    self.subject = subject
    self.names = names
    self.baseline = baseline
    leaks = heap.leaks(names.heapNaming)
    abandoned = heap.abandoned(names.heapNaming)
    var kept: [LeakGroup] = []
    var taken: [Int: Suppressed] = [:]
    for group in leaks.groups {
      guard let place = suppressions.rule(for: LeaksReport.texts(group, names)) else {
        kept.append(group)
        continue
      }
      taken[place, default: Suppressed(rule: suppressions.rules[place], count: 0, bytes: 0)].count += group.instances
      taken[place]?.bytes &+= group.totalBytes
    }
    groups = kept
    suppressed = taken.sorted { $0.key < $1.key }.map(\.value)
  }

  /// What a suppression is held against: the type, the cycle's types and properties, functions, files and modules of the stack.
  private static func texts(_ group: LeakGroup, _ names: ReportNames) -> [String] {
    let frames = names.heapFrames(of: group.stack)
    return [names.name(of: group.head)] + group.cycle.map { HeapText.reference($0, names) }
      + frames.flatMap { [$0.function, $0.module, $0.file ?? ""] }.filter { !$0.isEmpty }
  }

  func isKnown(_ group: LeakGroup) -> Bool { baseline?.known[group.fingerprint] != nil }

  /// The program's own leaks that are not known: what `--fail-on leaked` counts.
  public var newLeaks: Int { own.filter { !isKnown($0) }.reduce(0) { $0 + $1.instances } }
  /// Abandoned objects of the program's own types that have the verdict themselves: what `--fail-on abandoned` counts.
  public var abandonedObjects: Int {
    abandoned.types.filter { $0.isHead && !$0.isToolchains }.reduce(0) { $0 + $1.count }
  }
  /// Why leaks can't be told; nil where they can.
  public var leaksWithheld: String? { leaks.withheld }
  /// Why abandoned objects can't be told; nil where they can.
  public var abandonedWithheld: String? { abandoned.withheld }
  /// The baseline with all leaks of this report in it, for the file.
  public var updatedBaseline: LeakBaseline {
    LeakBaseline(
      known: Dictionary(own.map { ($0.fingerprint, "\(names.name(of: $0.head)), \($0.kind.rawValue)") }) { one, _ in one
      })
  }

  var own: [LeakGroup] { groups.filter { !$0.isToolchains } }
  var toolchains: [LeakGroup] { groups.filter(\.isToolchains) }

  /// The whole report, ending with a newline.
  public func render(_ options: ReportOptions) -> String {
    switch options.format {
    case .json: json()
    case .junit: junit()
    default: options.style.text(lines(options))
    }
  }
}
