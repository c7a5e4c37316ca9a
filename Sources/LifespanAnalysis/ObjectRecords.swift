// Millions of objects in little memory: 80 bytes each, made into a record when one is asked for. Part of ObjectList; made by
// ObjectsQuestion.
import LifespanTrace

/// A list of objects. Each `ObjectRecord` is made when it is asked for: a recording has millions.
public struct ObjectRecords: RandomAccessCollection, Sendable {
  /// Lives lie in pieces: one array of all would need twice its memory while it grows.
  static let pieceLength = 1000

  private enum Storage: Sendable {
    case records([ObjectRecord])
    case lives([[ObjectTracker.Life]], RecordMaker, end: TraceTime)
  }

  private let storage: Storage
  /// How many.
  public let count: Int

  /// Objects that were made before.
  public init(_ records: [ObjectRecord]) {
    storage = .records(records)
    count = records.count
  }

  /// Objects as they were followed, in pieces of `pieceLength` of which only the last may be shorter.
  init(pieces: [[ObjectTracker.Life]], _ maker: RecordMaker, end: TraceTime) {
    storage = .lives(pieces, maker, end: end)
    count = pieces.reduce(0) { $0 + $1.count }
  }

  /// The first.
  public var startIndex: Int { 0 }
  /// Behind the last.
  public var endIndex: Int { count }

  /// One object.
  public subscript(index: Int) -> ObjectRecord {
    switch storage {
    case .records(let records): records[index]
    case .lives(let pieces, let maker, let end):
      maker.record(pieces[index / Self.pieceLength][index % Self.pieceLength], end: end)
    }
  }
}

extension ObjectRecords: Equatable {
  /// The same objects in the same order, whatever they are kept in.
  public static func == (left: ObjectRecords, right: ObjectRecords) -> Bool { left.elementsEqual(right) }
}

extension ObjectRecords: ExpressibleByArrayLiteral {
  /// These objects.
  public init(arrayLiteral elements: ObjectRecord...) { self.init(elements) }
}

extension ObjectRecords: Codable {
  /// A list of records.
  public init(from decoder: any Decoder) throws { self.init(try [ObjectRecord](from: decoder)) }

  /// As a list of records.
  public func encode(to encoder: any Encoder) throws {
    var list = encoder.unkeyedContainer()
    for record in self { try list.encode(record) }
  }
}

/// What makes a record of an object as it was followed.
struct RecordMaker: Sendable {
  private let header: TraceHeader
  private let types: [TypeIdentity]
  private let rowOfSite: [Int]
  private let references: ReferenceRecording

  init(_ analysis: Analysis) {
    header = analysis.trace.header
    types = analysis.catalog.rows
    rowOfSite = analysis.catalog.rowOfSite
    references = ReferenceRecording(analysis.trace)
  }

  /// The record; `end` is the end of the time looked at.
  func record(_ life: ObjectTracker.Life, end: TraceTime) -> ObjectRecord {
    let born = header.time(Ticks(life.born))
    let died = life.state == ObjectTracker.State.living ? nil : header.time(Ticks(life.died))
    let state = Self.state(life.state)
    let type = types[rowOfSite[Int(life.site)]]
    // A thread's is a number of the recorder's, and says nothing.
    let hasAddress = life.address != 0 && type.kind != .thread
    return ObjectRecord(
      serial: SerialNumber(life.serial), address: hasAddress ? ObjectAddress(life.address) : nil, type: type,
      size: ByteCount(life.size), born: born, died: died,
      freed: state == .freed || state == .endNotSeen ? header.time(Ticks(life.freed)) : nil,
      age: (died ?? end).rawValue &- born.rawValue, thread: ThreadID(life.thread),
      task: life.task == 0 ? nil : TaskID(life.task), stack: StackID(life.stack),
      generation: Generation(life.generation), state: state,
      retainCount: state == .living && life.count != RunningCount.unknown ? Int(max(0, life.count)) : nil,
      idle: isIdleKnown(life, type) ? max(0, end.rawValue &- header.time(Ticks(life.freed)).rawValue) : nil)
  }

  // An object without any event of its own may have had some that are in the file no more.
  private func isIdleKnown(_ life: ObjectTracker.Life, _ type: TypeIdentity) -> Bool {
    life.state == ObjectTracker.State.living && references.holds(type)
      && (references.isKept || life.freed != life.born)
  }

  private static func state(_ number: UInt8) -> ObjectRecord.State {
    switch number {
    case ObjectTracker.State.kept: .deinitedMemoryKept
    case ObjectTracker.State.freed: .freed
    case ObjectTracker.State.endNotSeen: .endNotSeen
    default: .living
    }
  }
}
