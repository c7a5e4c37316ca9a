// Which types a question is about: --type, --exclude-type, --kind, --module. Applied by TypeCatalog.
import LifespanTrace

/// Chooses types. Empty: all.
public struct TypeFilter: Sendable, Codable, Hashable {
  /// Patterns of which one must match; none: every name does.
  public var include: [String]
  /// Patterns of which none may match.
  public var exclude: [String]
  /// Kinds; none: every kind.
  public var kinds: [ObjectKind]
  /// Modules; none: every module.
  public var modules: [String]

  /// Memberwise, all types by default.
  public init(include: [String] = [], exclude: [String] = [], kinds: [ObjectKind] = [], modules: [String] = []) {
    self.include = include
    self.exclude = exclude
    self.kinds = kinds
    self.modules = modules
  }

  /// Whether a type is chosen. Patterns are held against the shown and the raw name.
  public func keeps(_ type: TypeIdentity) -> Bool {
    func matches(_ patterns: [String]) -> Bool {
      patterns.contains { Glob.matches($0, type.name) || (type.rawName != type.name && Glob.matches($0, type.rawName)) }
    }
    return (kinds.isEmpty || kinds.contains(type.kind)) && (modules.isEmpty || modules.contains(type.module))
      && (include.isEmpty || matches(include)) && !matches(exclude)
  }
}

/// Patterns in which only `*` is special: type names hold brackets, commas and question marks.
public enum Glob {
  /// Whether the whole text matches.
  public static func matches(_ pattern: String, _ text: String) -> Bool {
    let pattern = Array(pattern.utf8)
    let text = Array(text.utf8)
    let star = UInt8(ascii: "*")
    var p = 0
    var t = 0
    // Where the last star stands, and how far it reaches: a mismatch lets it reach one further.
    var lastStar: (pattern: Int, text: Int)?
    while t < text.count {
      if p < pattern.count, pattern[p] == star {
        lastStar = (p, t)
        p += 1
      } else if p < pattern.count, pattern[p] == text[t] {
        p += 1
        t += 1
      } else if let back = lastStar {
        lastStar = (back.pattern, back.text + 1)
        p = back.pattern + 1
        t = back.text + 1
      } else {
        return false
      }
    }
    return pattern[p...].allSatisfy { $0 == star }
  }
}
