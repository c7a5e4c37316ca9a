// The recorder's types by their ids, as it tells them. Used by the counts, statistics, growth and history.
#if Recording
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
  /// Whether the program has asked for it; the command records more.
  var isWanted: Bool

  /// As a row of a report has it.
  var rowName: String { name.isEmpty ? kind?.rawValue ?? "" : name }

  /// The module that its name begins with; empty where it has none.
  var module: String { Self.module(of: rowName, kind) }

  static func module(of name: String, _ kind: Allocations.Kind?) -> String {
    guard kind != .token, kind != .closure else { return "" }
    let name = kind == .box && name.hasPrefix("box of ") ? name.dropFirst(7) : Substring(name)
    let word = name.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    return name.dropFirst(word.count).first == "." ? String(word) : ""
  }
}

struct TypeTable {
  private(set) var types: [TypeID: RecordedType] = [:]

  /// From an answer to LIFESPAN_ASK_TYPES; what was asked for before it names none but these.
  init(_ answer: borrowing Door.Answer) {
    answer.withBytes { bytes in
      bytes.forEachRow(of: lifespan_type_row.self, textLength: { $0.name_length }) { row, text in
        let id = TypeID(rawValue: row.type)
        var row = row
        let isWanted = lifespan_linked_wants(&row, text.baseAddress?.assumingMemoryBound(to: CChar.self))
        types[id] = RecordedType(
          id: id, kind: Allocations.Kind(row.kind), superclass: TypeID(rawValue: row.superclass),
          metadata: row.metadata, fullName: String(decoding: text, as: UTF8.self), name: Door.plainName(text),
          isWanted: isWanted)
      }
    }
  }

  /// The class itself (two ids where two threads met at its first object) and all classes below it.
  func family(of metadata: UInt64) -> Set<TypeID> {
    var family = Set(types.values.lazy.filter { $0.kind != .token && $0.metadata == metadata }.map { $0.id })
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
#endif
