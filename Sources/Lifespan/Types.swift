// Which types a question, a scope or a budget is about. Given to Allocations and to the assertions of LifespanTesting.

extension Allocations {
  /// A choice of types: classes with their subclasses, a module's types, or all whose names match.
  ///
  /// ```swift
  /// Allocations.withScope("GET /x", of: .module("MyApp"), expectReleasedWithin: .seconds(2)) { … }
  /// ```
  ///
  /// Closures have no names of their own and belong to no module; they are chosen by ``all`` alone.
  public struct Types: Sendable, CustomStringConvertible {
    enum Choice: Sendable {
      case all
      case classes([any AnyObject.Type])
      case module(String)
      case matching(String)
    }

    let choice: Choice
    private(set) var left: [(pattern: String, reason: String)] = []

    init(_ choice: Choice) { self.choice = choice }

    /// Everything that is recorded, what the runtime and Foundation make for themselves included.
    public static let all = Types(.all)

    /// These classes and their subclasses.
    public static func type(_ types: any AnyObject.Type...) -> Types { Types(.classes(types)) }

    /// The types of a module, boxes of them included.
    public static func module(_ name: String) -> Types { Types(.module(name)) }

    /// Types by their names.
    ///
    /// - Parameter pattern: a name as Swift prints it with its module, `MyApp.Node`; only `*` is special.
    public static func matching(_ pattern: String) -> Types { Types(.matching(pattern)) }

    /// The same without the types whose names match: those that are known to stay.
    ///
    /// - Parameters:
    ///   - pattern: as for ``matching(_:)``.
    ///   - reason: why they may; it stands in reports.
    public func except(_ pattern: String, reason: String) -> Types {
      var types = self
      types.left.append((pattern, reason))
      return types
    }

    /// As a report names the choice.
    public var description: String {
      switch choice {
      case .all: "all types"
      case .classes(let classes): classes.map { plainTypeName(of: $0) }.joined(separator: ", ")
      case .module(let name): "module \(name)"
      case .matching(let pattern): pattern
      }
    }

    /// Why a type of this name is left out; nil: it is not.
    func reasonToLeaveOut(_ name: String) -> String? {
      left.first { Glob.matches($0.pattern, name) }?.reason
    }
  }
}

/// Patterns in which only `*` is special.
enum Glob {
  static func matches(_ pattern: String, _ name: String) -> Bool {
    let pattern = Array(pattern.utf8)
    let name = Array(name.utf8)
    var at = 0
    var position = 0
    var star: (at: Int, position: Int)?
    while position < name.count {
      if at < pattern.count, pattern[at] == UInt8(ascii: "*") {
        star = (at, position)
        at += 1
      } else if at < pattern.count, pattern[at] == name[position] {
        at += 1
        position += 1
      } else if let last = star {
        star = (last.at, last.position + 1)
        at = last.at + 1
        position = last.position + 1
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == UInt8(ascii: "*") }
  }
}
