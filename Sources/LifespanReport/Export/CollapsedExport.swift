// Collapsed stacks, as flame graph programs read them: a line a stack, its functions from the outermost with `;` between, last the type, then a number.
import LifespanAnalysis
import LifespanSymbols

/// Which of a site's numbers a format takes that has room for one.
public enum ExportWeight: String, Sendable, CaseIterable {
  /// Bytes.
  case bytes
  /// Objects.
  case count

  func of(_ tally: Tally, _ lifespan: LifespanFilter) -> Int64 {
    let (count, bytes) = tally.weight(of: lifespan)
    return self == .bytes ? bytes : Int64(count)
  }
}

/// Stacks as lines.
public struct CollapsedExport {
  private let sites: [NamedSite]
  private let lifespan: LifespanFilter

  /// Those sites, named.
  public init(_ sites: AllocationSites, names: ReportNames) {
    self.sites = sites.named(names)
    lifespan = sites.lifespan
  }

  /// The lines, in the order of their stacks. Stacks that have the same names are one line.
  public func text(_ weight: ExportWeight) -> String {
    var sums: [String: Int64] = [:]
    for site in sites {
      let functions =
        site.frames.isEmpty ? ["(\(site.ending ?? "no stack was recorded"))"] : site.frames.map(\.function)
      sums[(functions + [site.type]).map(Self.word).joined(separator: ";"), default: 0] &+= weight.of(
        site.tally, lifespan)
    }
    return sums.filter { $0.value != 0 }.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
  }

  /// What separates functions and lines can't stand in one.
  private static func word(_ name: String) -> String { name.replacing(";", with: ":").printable }
}
