// The recorder's types by their ids, as it tells them. Used by the counts, statistics, growth and history.
internal import CDrain
internal import CLinkedDoor

/// A type's number in the recording.
struct TypeID: Hashable {
  var rawValue: UInt32
}

struct RecordedType {
  var id: TypeID
  var kind: Allocations.Kind?
  var superclass: TypeID
  var metadata: UInt64
  /// As the runtime prints it.
  var fullName: String
  /// As reports print it.
  var name: String
}

struct TypeTable {
  private(set) var types: [TypeID: RecordedType] = [:]

  /// As of now; an answer's rows that were asked for before it are all found here.
  init() throws(Allocations.NotRecording) {
    let rows = try Door.ask(LIFESPAN_ASK_TYPES) { bytes in
      bytes.rows(of: lifespan_type_row.self, textLength: \.name_length) { row, text in
        RecordedType(
          id: TypeID(rawValue: row.type), kind: Allocations.Kind(row.kind),
          superclass: TypeID(rawValue: row.superclass), metadata: row.metadata,
          fullName: String(decoding: text, as: UTF8.self), name: Door.plainName(text))
      }
    }
    for type in rows { types[type.id] = type }
  }

  /// The class itself (two ids where two threads met at its first object) and all classes below it.
  func family(of metadata: UInt64) -> Set<TypeID> {
    var family = Set(types.values.lazy.filter { $0.kind != .token && $0.metadata == metadata }.map(\.id))
    var grew = !family.isEmpty
    while grew {
      grew = false
      for type in types.values where !family.contains(type.id) && family.contains(type.superclass) {
        family.insert(type.id)
        grew = true
      }
    }
    return family
  }
}

extension Allocations.Kind {
  /// The recorder's number for it; nil: one that this version does not know.
  init?(_ number: UInt32) {
    switch lifespan_object_kind(number) {
    case LIFESPAN_KIND_CLASS: self = .class
    case LIFESPAN_KIND_CLOSURE: self = .closure
    case LIFESPAN_KIND_BOX: self = .box
    case LIFESPAN_KIND_ARRAY: self = .array
    case LIFESPAN_KIND_DICTIONARY: self = .dictionary
    case LIFESPAN_KIND_SET: self = .set
    case LIFESPAN_KIND_TASK: self = .task
    case LIFESPAN_KIND_THREAD: self = .thread
    case LIFESPAN_KIND_MALLOC: self = .malloc
    case LIFESPAN_KIND_VM: self = .vm
    case LIFESPAN_KIND_TOKEN: self = .token
    default: return nil
    }
  }
}
