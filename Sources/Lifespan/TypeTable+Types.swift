// Which recorded types a choice of types names. Used by scopes, budgets and round trips.
#if Recording
internal import CLinkedDoor

extension TypeTable {
  /// The types that were chosen and are not left out.
  func chosen(_ choice: Allocations.Types) -> Set<TypeID> {
    var ids: Set<TypeID>
    switch choice.choice {
    case .all: ids = Set(types.keys)
    case .classes(let classes):
      ids = classes.reduce(into: []) { $0.formUnion(family(of: UInt64(UInt(bitPattern: metadata(of: $1))))) }
    case .module(let name):
      ids = Set(types.values.lazy.filter { $0.module == name }.map { $0.id })
    case .matching(let pattern):
      ids = Set(types.values.lazy.filter { Glob.matches(pattern, $0.name) }.map { $0.id })
    }
    if !choice.left.isEmpty { ids = ids.filter { choice.reasonToLeaveOut(types[$0]?.name ?? "") == nil } }
    return ids
  }
}

extension Allocations.Types {
  /// Throws where objects of the chosen types are not recorded, so that a count of them would not be true.
  package func checkRecorded() throws(Allocations.NotRecording) {
    try Door.checkRecording()
    guard Door.state().recording != 0 else { throw Allocations.NotRecording(.stopped) }
    guard case .classes(let classes) = choice else { return }
    for one in classes { try Allocations.checkRecorded(metadata(of: one), String(reflecting: one)) }
  }
}

func metadata(of type: any AnyObject.Type) -> UnsafeRawPointer { unsafeBitCast(type, to: UnsafeRawPointer.self) }
#endif
