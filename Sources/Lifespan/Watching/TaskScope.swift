// What is born between two moments in the current task and the tasks below it. Used by withScope, roundTrip and LifespanTesting.
#if Recording
internal import CDrain
internal import CLinkedDoor

/// Begun on the task (or, where none runs, the thread) whose births it takes in. To be forgotten by whoever made it.
package struct TaskScope: Sendable {
  /// One object that lives and was born meanwhile.
  package struct Object: Sendable {
    /// Where it was born.
    package enum Place: Sendable { case inside, inNoScope, inAnotherScope }
    package var address: UInt64 { ~inverted }
    /// The address, inverted: what tells of an object must not look like a reference to it.
    package let inverted: UInt64
    package let serial: UInt64
    package let bytes: Int
    package let ticks: UInt64
    package let type: UInt32
    package let stack: UInt32
    package let thread: UInt32
    package let place: Place
    package let scope: UInt64
  }

  /// What happened inside, by type.
  package struct Row: Sendable {
    package let type: UInt32
    package let births: Int
    package let retains: Int
  }

  /// A type, as far as messages need it.
  package struct TypeName: Sendable {
    package let name: String
    package let kind: Allocations.Kind?
  }

  package let number: UInt64
  /// Ticks since the start of the recording.
  package let begin: UInt64

  /// - Parameter tallied: whether births and retains are counted, too, also of what dies.
  package init(tallied: Bool) throws(Allocations.NotRecording) {
    let tally: UInt32 = tallied ? LIFESPAN_SCOPE_TALLIED : 0
    let task = lifespan_watch_task_id()
    let address = task == 0 ? LIFESPAN_SCOPE_OF_THREAD : task
    let generation = (task == 0 ? lifespan_watch_thread_id() : 0) | tally
    let answer = try Door.ask(LIFESPAN_ASK_SCOPE_BEGIN, address: address, generation: generation)
    let begun: lifespan_scope_begun? = answer.withBytes {
      $0.count >= MemoryLayout<lifespan_scope_begun>.size ? $0.loadUnaligned(as: lifespan_scope_begun.self) : nil
    }
    guard let begun else { throw Allocations.NotRecording(.noAnswer) }
    number = begun.scope
    begin = begun.ticks
  }

  /// What is born from now on does not belong to it.
  package func end() { _ = try? Door.ask(LIFESPAN_ASK_SCOPE_END, address: number) }

  /// Of the recording, since its start: comparable with objects' births.
  package static var ticks: UInt64 { lifespan_watch_ticks() }

  /// Whether retains of all recorded types are recorded; under `lifespan record` the command decides that.
  package static var countsReferences: Bool { lifespan_watch_counts_references() }

  /// The object that lives at an address; nil: none that was recorded.
  package static func object(at address: UInt64) -> Object? { Door.object(at: address) }

  package func forget() { _ = try? Door.ask(LIFESPAN_ASK_SCOPE_FORGET, address: number) }

  /// What lives, was born since the begin, and until the end where there was one: inside, and elsewhere.
  package func living() throws(Allocations.NotRecording) -> [Object] { try Self.living(number) }

  /// What lives and was born inside of any scope that has ended; a row for each scope.
  package static func livingInEnded() throws(Allocations.NotRecording) -> [Object] { try living(0) }

  package func rows() throws(Allocations.NotRecording) -> [Row] {
    try Door.ask(LIFESPAN_ASK_SCOPE_ROWS, address: number).withBytes {
      $0.rows(of: lifespan_scope_row.self).map {
        Row(type: $0.type, births: Int(clamping: $0.births), retains: Int(clamping: $0.retains))
      }
    }
  }

  private static func living(_ number: UInt64) throws(Allocations.NotRecording) -> [Object] {
    try Door.ask(LIFESPAN_ASK_SCOPE_LIVING, address: number).withBytes {
      $0.rows(of: lifespan_scope_object.self).map { Object($0) }
    }
  }

  /// All types that were recorded by now, and which of them were chosen.
  package static func types(
    _ chosen: Allocations.Types
  ) throws(Allocations.NotRecording) -> (names: [UInt32: TypeName], chosen: Set<UInt32>) {
    let table = TypeTable(try Door.ask(LIFESPAN_ASK_TYPES))
    let names = table.types.map { ($0.key.rawValue, TypeName(name: $0.value.rowName, kind: $0.value.kind)) }
    return (Dictionary(names) { $1 }, Set(table.chosen(chosen).map { $0.rawValue }))
  }
}

extension TaskScope.Object {
  init(_ object: lifespan_scope_object) {
    inverted = object.inverted
    serial = object.serial
    bytes = Int(clamping: object.size)
    ticks = object.ticks
    type = object.type
    stack = object.stack
    thread = object.thread
    scope = object.scope
    switch lifespan_scope_place(object.place) {
    case LIFESPAN_SCOPE_IN_NONE: place = .inNoScope
    case LIFESPAN_SCOPE_IN_ANOTHER: place = .inAnotherScope
    default: place = .inside
    }
  }
}

extension Door {
  /// The object that lives at an address; nil: none that was recorded.
  static func object(at address: UInt64) -> TaskScope.Object? {
    let row: lifespan_scope_object? = (try? ask(LIFESPAN_ASK_OBJECT, address: address))?.withBytes {
      $0.rows(of: lifespan_scope_object.self).first
    }
    return row.map { TaskScope.Object($0) }
  }

  /// Return addresses, innermost first.
  static func stack(_ stack: UInt32) -> [Allocations.ReturnAddress] {
    guard stack >= LIFESPAN_STACK_FIRST else { return [] }
    let frames: [UInt64]? = (try? ask(LIFESPAN_ASK_STACK, address: UInt64(stack)))?.withBytes {
      $0.rows(of: UInt64.self)
    }
    return (frames ?? []).map { Allocations.ReturnAddress(rawValue: $0) }
  }
}

extension Allocations {
  /// The stack of a recorded object, by the number that ``TaskScope/Object`` has.
  package static func frames(of stack: UInt32) -> [ReturnAddress] { Door.stack(stack) }

  /// Strong references to what lies there, by what was recorded; nil: not all of its retains and releases were.
  package static func strongReferences(to address: UInt64) -> Int? { Door.strongCount(of: address) }
}
#endif
