// Why a question has no answer: it names something that the recording does not hold. Thrown by Analysis, printed by the
// command as its one line.
import LifespanTrace

/// A name in a question that the recording does not know.
public enum QuestionError: Error, Sendable, Hashable, CustomStringConvertible {
  /// No type matches the pattern; the nearest names.
  case unknownType(String, nearest: [String])
  /// No type is of that module; the nearest modules.
  case unknownModule(String, nearest: [String])
  /// No type is of that kind; the kinds that there are.
  case unknownKind(ObjectKind, others: [ObjectKind])
  /// No mark has that name; the nearest names.
  case unknownMark(String, nearest: [String])
  /// No object with that serial; the recording's first and last.
  case unknownSerial(SerialNumber, births: UInt64)
  /// The object died before that time, and its events were discarded by that option of `record`.
  case discarded(SerialNumber, before: TraceTime, by: String)
  /// No object is known that lay at that address, and what died before that time was discarded.
  case discardedAddress(ObjectAddress, nearest: [ObjectAddress], before: TraceTime, by: String)
  /// The object is born after the end of the time looked at.
  case bornLater(SerialNumber, Moment)
  /// No object ever lay at that address; addresses where objects lay next to it.
  case unknownAddress(ObjectAddress, nearest: [ObjectAddress])
  /// Addresses are asked for, but the recording holds none.
  case noAddresses
  /// The first moment is not before the second.
  case emptyWindow(Moment, Moment)

  /// One line: what is not there, and what is.
  public var description: String {
    switch self {
    case .unknownType(let pattern, let nearest):
      "no type matches '\(pattern)' in this recording" + QuestionError.hint(nearest)
    case .unknownModule(let name, let nearest):
      "no type of module '\(name)' in this recording" + QuestionError.hint(nearest)
    case .unknownKind(let kind, let others):
      (ObjectKind.optional.contains(kind)
        ? "kind \(kind) was not recorded in this trace" : "nothing of kind \(kind) in this recording")
        + (others.isEmpty ? "" : "; it has: " + others.map(\.description).joined(separator: ", "))
    case .unknownMark(let name, let nearest):
      "no mark '\(name)' in this recording" + (nearest.isEmpty ? "; it has no marks" : QuestionError.hint(nearest))
    case .unknownSerial(let serial, let births):
      births == 0
        ? "no object @\(serial): this recording has no births"
        : "no object @\(serial) in this recording, which has \(births) birth\(births == 1 ? "" : "s")"
    case .discarded(let serial, let before, let by):
      "object @\(serial) died before \(before) ns, and its events were discarded (\(by)): only its type's counts have it"
    case .discardedAddress(let address, let nearest, let before, let by):
      "no object that is known lay at \(address)" + QuestionError.hint(nearest.map(\.description))
        + "; what died before \(before) ns was discarded (\(by))"
    case .bornLater(let serial, let moment):
      "object @\(serial) is born after \(QuestionError.words(moment)); give a later --to"
    case .unknownAddress(let address, let nearest):
      "no object lay at \(address) in this recording" + QuestionError.hint(nearest.map(\.description))
    case .noAddresses:
      "this recording holds no addresses; ask by @serial"
    case .emptyWindow(let from, let to):
      "\(QuestionError.words(from)) is not before \(QuestionError.words(to)); give an earlier and a later moment"
    }
  }

  private static func hint(_ names: [String]) -> String {
    names.isEmpty ? "" : "; nearest: " + names.joined(separator: ", ")
  }

  private static func words(_ moment: Moment) -> String {
    switch moment {
    case .mark(let name): "mark '\(name)'"
    case .time(let time): "\(time) ns"
    case .peak(let peak): "the peak at \(peak.time) ns"
    }
  }
}
