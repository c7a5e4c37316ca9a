// What a row is about: one type, by its raw name. Made once per type by TypeCatalog, part of every answer's rows.
import LifespanTrace

/// The type that a row counts.
///
/// Two types with the same raw name are one; two private types of the same plain name in different files stay two, with
/// equal `name` and different `rawName`.
public struct TypeIdentity: Sendable, Codable, Hashable {
  /// The first of the recorder's numbers that have this raw name.
  public var id: TypeID
  /// The name to show: plain, module-qualified, without discriminators. Empty for closures, which `caller` names.
  public var name: String
  /// The runtime's own name, with the discriminators of private and local types.
  public var rawName: String
  /// What the objects are.
  public var kind: ObjectKind
  /// The first component of the name; empty where there is none. Of a named closure the module of what makes it.
  public var module: String
  /// Closures: a return address in the function that makes them ("closure in FUNCTION").
  public var caller: ReturnAddress?
  /// Retains and releases of its objects were recorded.
  public var isTracked: Bool
  /// Only from some time on: objects of it lived before.
  public var isTrackedLate: Bool

  /// Memberwise.
  public init(
    id: TypeID, name: String, rawName: String, kind: ObjectKind, module: String, caller: ReturnAddress? = nil,
    isTracked: Bool = false, isTrackedLate: Bool = false
  ) {
    self.id = id
    self.name = name
    self.rawName = rawName
    self.kind = kind
    self.module = module
    self.caller = caller
    self.isTracked = isTracked
    self.isTrackedLate = isTrackedLate
  }
}
