// What watching finds: objects that live longer than they were expected to. Handed to the program's handler.

/// Says which objects must die with this one: those that its framework knows of, beyond what its stored properties hold alone.
///
/// ```swift
/// extension Page: ManagedLifetime {
///   var objectsExpectedToDieWithThis: [AnyObject] { subviews + [presenter] }
/// }
/// ```
public protocol ManagedLifetime: AnyObject {
  /// Read once, where ``Allocations/expectRelease(of:within:reason:)`` is called for this object or for one that holds it.
  var objectsExpectedToDieWithThis: [AnyObject] { get }
}

extension Allocations {
  /// An object that was expected to be released and lives.
  public struct Survivor: Sendable, CustomStringConvertible {
    /// Its type, as reports print it.
    public let type: String
    /// From the object that the program expected to die: that object's type, then the properties that led here. One element: it is
    /// that object itself.
    public let ownerPath: [String]
    /// Why it should have died: as the program said.
    public let reason: String
    /// The time that it had.
    public let within: Duration
    /// Its number in the recording; nil where its birth was not recorded.
    public let serial: Serial?
    /// Where it lies.
    public let address: Address
    /// Where it was allocated, innermost first; empty where that was not recorded.
    public let allocatedBy: [ReturnAddress]
    /// Retains that no release has paired: the strong references to it, by what was recorded. nil where its retains and releases are not
    /// recorded, or not all.
    public let unpairedRetains: Int?
    /// From a root of the program to the object, as ``Allocations/holders(of:)`` tells it; from the head of its leak where no root reaches
    /// it; empty where that is not known: ``unknownHolder`` says why.
    public let path: [String]
    /// Whether something keeps it alive; nil where that was not looked for.
    public let reach: HolderReport.Reach?
    /// Why it is not known who holds it, as the end of “who holds it …”; nil where it is known, or nothing is recorded.
    public let unknownHolder: String?
    /// Other survivors that it, or what it holds, keeps: they are counted here and not reported.
    public let others: [String: Int]

    /// One line.
    public var description: String {
      var text = ownerPath.count > 1 ? "\(ownerPath.joined(separator: ".")), a \(type)," : type
      if let serial { text += " \(serial)" }
      text += " lives \(Self.text(within)) after “\(reason)”, by when it should have been released"
      if let frame = Self.responsible(allocatedBy) { text += "; allocated by \(frame)" }
      if let unpairedRetains { text += "; \(unpairedRetains) strong reference\(unpairedRetains == 1 ? "" : "s")" }
      text += HolderReport.words(path, reach, unknownHolder)
      if !others.isEmpty {
        let names = others.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { "\($0.value) × \($0.key)" }
        text += "; with it \(names.joined(separator: ", "))"
      }
      return text
    }
  }

  /// Objects that were born in a scope and live longer than they were expected to.
  public struct ScopeSurvivors: Sendable, CustomStringConvertible {
    /// One type's.
    public struct Row: Sendable {
      /// The type, as reports print it.
      public let type: String
      /// Objects.
      public let count: Int
      /// Bytes of their memory.
      public let bytes: Int
      /// One of them.
      public let example: Serial
      /// Where that one was allocated, innermost first.
      public let allocatedBy: [ReturnAddress]
      /// Who holds that one: as ``Survivor/path``.
      public let path: [String]
      /// As ``Survivor/reach``, of that one.
      public let reach: HolderReport.Reach?
      /// As ``Survivor/unknownHolder``, of that one.
      public let unknownHolder: String?
    }

    /// The scope's name.
    public let scope: String
    /// The time that they had after its end.
    public let within: Duration
    /// By type, most objects first.
    public let rows: [Row]

    /// One line.
    public var description: String {
      let types = rows.map { row in
        let details = Survivor.responsible(row.allocatedBy).map { "allocated by \($0)" } ?? ""
        let all = details + HolderReport.words(row.path, row.reach, row.unknownHolder)
        return "\(row.count) × \(row.type)" + (all.isEmpty ? "" : " (\(all.drop { $0 == ";" || $0 == " " }))")
      }
      return "scope “\(scope)” ended \(Survivor.text(within)) ago and left \(types.joined(separator: ", "))"
    }
  }

  /// More objects live than a budget allows.
  public struct BudgetPassed: Sendable, CustomStringConvertible {
    /// Whose budget.
    public let types: String
    /// Objects that live.
    public let count: Int
    /// Objects that may.
    public let limit: Int

    /// One line.
    public var description: String { "\(count) objects of \(types) live, at most \(limit) should" }
  }

  /// What watching tells the program.
  public enum Finding: Sendable, CustomStringConvertible {
    /// An object lives that should have been released.
    case survivor(Survivor)
    /// Objects of a scope live that should have been released.
    case scopeSurvivors(ScopeSurvivors)
    /// The survivor told before has died, so late: no leak. Looked at now and then, so that two times are known between which it died.
    case withdrawn(Survivor, late: ClosedRange<Duration>)
    /// All survivors of the scope told before have died, so late.
    case scopeWithdrawn(ScopeSurvivors, late: ClosedRange<Duration>)
    /// A budget was passed: told once, and again after the number was within it.
    case budgetPassed(BudgetPassed)

    /// One line.
    public var description: String {
      switch self {
      case .survivor(let survivor): survivor.description
      case .scopeSurvivors(let survivors): survivors.description
      case .withdrawn(let survivor, let late):
        "withdrawn: \(survivor.type) (“\(survivor.reason)”) has died, \(Survivor.text(late)) late"
      case .scopeWithdrawn(let survivors, let late):
        "withdrawn: all that scope “\(survivors.scope)” left has died, \(Survivor.text(late)) late"
      case .budgetPassed(let budget): budget.description
      }
    }
  }

  /// What becomes of a finding.
  public enum FindingHandler: Sendable {
    /// One line on stderr. The default.
    case log
    /// Given to the program, on the thread that watches; nothing is printed.
    case callback(@Sendable (Finding) -> Void)
    /// One line on stderr; a survivor or a passed budget then ends the program where the library is built for debugging.
    case trap
  }
}

extension Allocations.Survivor {
  static func text(_ duration: Duration) -> String {
    let milliseconds = duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
    if milliseconds < 1_000 { return "\(milliseconds) ms" }
    let tenths = (milliseconds + 50) / 100
    return tenths % 10 == 0 ? "\(tenths / 10) s" : "\(tenths / 10).\(tenths % 10) s"
  }

  static func text(_ range: ClosedRange<Duration>) -> String {
    let (low, high) = (text(range.lowerBound), text(range.upperBound))
    return low == high ? low : "\(low) to \(high)"
  }

  /// The first frame that is the program's own: the language's libraries have theirs above it.
  static func responsible(_ frames: [Allocations.ReturnAddress]) -> String? {
    var first: String?
    for frame in frames {
      guard let symbol = frame.symbol() else { continue }
      let text = symbol.description
      if first == nil { first = text }
      let file = symbol.image.split(separator: "/").last.map(String.init) ?? ""
      let isSystems =
        file.hasPrefix("libswift") || file.hasPrefix("libFoundation") || file.hasPrefix("libdispatch")
        || file.hasPrefix("libc.")
      if !isSystems && symbol.function?.contains("__allocating_init") != true { return text }
    }
    return first
  }
}
