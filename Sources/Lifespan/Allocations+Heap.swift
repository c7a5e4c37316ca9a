// Who holds what: leaks of the process, and the holders of one object.
#if Recording
internal import CHeap
internal import CLinkedDoor

extension Allocations {
  /// What is leaked now: objects that no variable, stack, register or other memory of the program leads to.
  ///
  /// ```swift
  /// for leak in try Allocations.leaks().leaks {
  ///   print(leak.instances, leak.type, leak.cycle.map(\.description))
  /// }
  /// ```
  ///
  /// Only what is recorded can be found: start with `recording: .swiftObjects`, as a cycle mostly leads through closures and
  /// arrays. What the recorder does not know (blocks of malloc that are no objects, objects from before the start, types that
  /// are left out) counts as held, so nothing is called leaked falsely, and leaks may be missed: ``LeakReport/isComplete`` and
  /// ``LeakReport/notes`` say so. Run under `lifespan record --leaks`, the recording command looks, which knows all blocks.
  ///
  /// - Throws: ``HeapError``; the program goes on as if nothing had been asked.
  ///
  /// Cost: all threads stand still while the page tables of the process are copied (some milliseconds for 100 MB; longest for
  /// a heap that is large), and the process has a copy of itself, which runs nothing, while that is read. Threads are stopped
  /// by SIGPROF, so calls that a signal interrupts (`nanosleep`, `poll`, `epoll_wait`) may return early with `EINTR`; a
  /// program that handles SIGPROF itself, or blocks it in a thread, gets an error. Under `lifespan record` no signal is sent.
  /// The call takes about a second for a million objects.
  public static func leaks() throws(HeapError) -> LeakReport {
    lifespan_linked_clear_stack()
    return try lookForLeaks()
  }

  @inline(never) private static func lookForLeaks() throws(HeapError) -> LeakReport {
    let report = try Report(place: 0)
    return LeakReport(
      leaks: try report.leaks(), withheld: report.text(report.head.withheld), isComplete: report.head.knows_all != 0,
      notes: report.notes, objectsChecked: Int(clamping: report.head.objects), roots: Int(clamping: report.head.roots),
      pauseNanoseconds: report.head.pause_ns, lost: report.lost)
  }

  /// Who holds an object now: what refers to it, and the shortest way from a variable, a stack or another root.
  ///
  /// The caller itself holds the object, so one root is mostly a word of its stack or a register.
  ///
  /// - Throws: ``HeapError``; ``HeapError/unknownObject(type:)`` where the object's birth was not recorded.
  ///
  /// Cost: as ``leaks()``.
  public static func holders(of object: AnyObject) throws(HeapError) -> HolderReport {
    lifespan_linked_clear_stack()
    return try lookForHolders(object)
  }

  @inline(never) private static func lookForHolders(_ object: AnyObject) throws(HeapError) -> HolderReport {
    let place = ~UInt64(UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque()))
    let name = { Door.plainName(String(reflecting: Swift.type(of: object))) }
    let report = try Report(place: place, type: name)
    // It lives while it is looked at.
    return withExtendedLifetime(object) { report.holders() }
  }

  /// Clears what calls that have returned have left on the stack below the caller: no dead word lies in the frames to come.
  @inline(never) package static func clearStack() { lifespan_linked_clear_stack() }

  /// Who holds what lies there, without a reference of the caller's. `place`: the address, inverted, so that it is none on a stack.
  package static func holders(atInverted place: UInt64) throws(HeapError) -> HolderReport {
    lifespan_linked_clear_stack()
    return try lookForHolders(atInverted: place)
  }

  @inline(never)
  private static func lookForHolders(atInverted place: UInt64) throws(HeapError) -> HolderReport {
    try Report(place: place).holders()
  }
}

/// A report of the heap as it came from the C side, and the types that it names.
private struct Report {
  let head: heap_report_head
  private let bytes: [UInt8]
  private let table: TypeTable
  private let places: [Int]

  /// `place`: 0 of leaks, else the object's address, inverted: it must not look like a reference of this thread's.
  init(place: UInt64, type: () -> String = { "" }) throws(Allocations.HeapError) {
    var answer = lifespan_linked_answer()
    var reason = [CChar](repeating: 0, count: 512)
    let status = lifespan_linked_heap(place, &answer, &reason, reason.count)
    defer { lifespan_linked_forget(&answer) }
    switch status {
    case LIFESPAN_LINKED_OK: break
    case LIFESPAN_LINKED_FORBIDDEN: throw .forbidden(String(fromC: reason))
    case LIFESPAN_LINKED_NO_EYES: throw .commandCannotLook
    case LIFESPAN_LINKED_UNKNOWN: throw .unknownObject(type: type())
    case LIFESPAN_LINKED_NO_MEMORY: throw .noMemory
    default: throw .notRecording(Allocations.NotRecording(status))
    }
    let bytes = [UInt8](UnsafeRawBufferPointer(start: answer.bytes, count: answer.length))
    guard bytes.count >= MemoryLayout<heap_report_head>.stride else {
      throw .notRecording(Allocations.NotRecording(.noAnswer))
    }
    head = bytes.withUnsafeBytes { $0.loadUnaligned(as: heap_report_head.self) }
    places = Self.places(head)
    guard let end = places.last, end == bytes.count else {
      throw .notRecording(Allocations.NotRecording(.noAnswer))
    }
    self.bytes = bytes
    do {
      table = TypeTable(try Door.ask(LIFESPAN_ASK_TYPES))
    } catch {
      throw .notRecording(error)
    }
  }

  /// Where each list begins, the texts last, and the end.
  private static func places(_ head: heap_report_head) -> [Int] {
    let lists = [
      (head.leaks, MemoryLayout<heap_report_leak>.stride), (head.rows, MemoryLayout<heap_report_row>.stride),
      (head.steps, MemoryLayout<heap_report_step>.stride), (head.holders, MemoryLayout<heap_report_holder>.stride),
      (head.root_steps, MemoryLayout<heap_report_root>.stride), (head.lost, MemoryLayout<heap_report_lost>.stride),
      (head.text_bytes, 1),
    ]
    var places = [MemoryLayout<heap_report_head>.stride]
    for (count, stride) in lists { places.append((places.last ?? 0) + Int(count) * stride) }
    return places
  }

  private func list<Item: BitwiseCopyable>(_ number: Int, of type: Item.Type) -> [Item] {
    bytes.withUnsafeBytes { UnsafeRawBufferPointer(rebasing: $0[places[number]..<places[number + 1]]).rows(of: type) }
  }

  func text(_ place: UInt32) -> String? {
    guard place > 0, Int(place) < Int(head.text_bytes) else { return nil }
    return String(decoding: bytes[(places[6] + Int(place))...].prefix { $0 != 0 }, as: UTF8.self)
  }

  var notes: [String] { text(head.notes)?.split(separator: "\n").map(String.init) ?? [] }

  // MARK: Leaks

  func leaks() throws(Allocations.HeapError) -> [Allocations.LeakReport.Leak] {
    let rows = list(1, of: heap_report_row.self)
    let steps = list(2, of: heap_report_step.self)
    var stacks: [UInt32: [Allocations.ReturnAddress]] = [:]
    var found: [Allocations.LeakReport.Leak] = []
    for leak in list(0, of: heap_report_leak.self) {
      let own = Self.part(rows, leak.first_row, leak.rows)
      // The command records more than this program has asked for.
      guard own.contains(where: { type($0.type)?.isWanted ?? true }) else { continue }
      do {
        if stacks[leak.stack] == nil { stacks[leak.stack] = try Allocations.backtrace(leak.stack) }
      } catch {
        throw .notRecording(error)
      }
      found.append(
        Allocations.LeakReport.Leak(
          kind: Self.kind(leak.kind), type: name(leak.type, leak.name), instances: Int(leak.instances),
          count: Int(leak.count), bytes: Int(clamping: leak.bytes), rows: own.map(row),
          cycle: Self.part(steps, leak.first_step, leak.steps).map(reference), cycleLength: Int(leak.cycle_length),
          place: leak.inverted, serial: Self.serial(leak.serial),
          backtrace: stacks[leak.stack] ?? [], isToolchains: leak.toolchains != 0))
    }
    return found
  }

  private static func part<Item>(_ items: [Item], _ first: UInt32, _ count: UInt32) -> ArraySlice<Item> {
    let end = min(items.count, Int(first) + Int(count))
    return Int(first) <= end ? items[Int(first)..<end] : []
  }

  private static func kind(_ number: UInt32) -> Allocations.LeakReport.Leak.Kind {
    switch heap_leak_kind(number) {
    case HEAP_LEAK_CYCLE: .cycle
    case HEAP_LEAK_SUSPENDED_TASK: .suspendedTask
    default: .root
    }
  }

  private func row(_ row: heap_report_row) -> Allocations.LeakReport.Leak.Row {
    Allocations.LeakReport.Leak.Row(
      type: name(row.type, row.name), kind: type(row.type)?.kind, count: Int(row.count),
      bytes: Int(clamping: row.bytes))
  }

  /// Each object that is in a leak or below one, and the number of that leak's first head.
  var lost: [Allocations.LeakReport.Lost] {
    list(5, of: heap_report_lost.self).map { Allocations.LeakReport.Lost(serial: $0.serial, leak: $0.leak) }
  }

  // MARK: Holders

  func holders() -> Allocations.HolderReport {
    let steps = list(2, of: heap_report_step.self)
    let roots = list(4, of: heap_report_root.self)
    let reach: Allocations.HolderReport.Reach =
      head.reachable == 0 ? .unreachable : head.reachable == 1 ? .perhaps : .reachable
    let way = steps.dropFirst().map(reference)
    let start = roots.first { $0.on_path != 0 }.map(root)
    let object = steps.first.map(reference) ?? reference(heap_report_step())
    return Allocations.HolderReport(
      object: object, reach: reach, holders: list(3, of: heap_report_holder.self).map(holder),
      roots: roots.filter { $0.on_path == 0 }.map(root),
      path: way.isEmpty ? nil : Allocations.Path(root: start, steps: way), isComplete: head.knows_all != 0,
      notes: notes, pauseNanoseconds: head.pause_ns)
  }

  private func holder(_ holder: heap_report_holder) -> Allocations.HolderReport.Holder {
    Allocations.HolderReport.Holder(
      reference: reference(holder.step), count: Int(holder.count), holds: holder.holds != 0)
  }

  private func root(_ root: heap_report_root) -> Allocations.Root {
    let kind: Allocations.Root.Kind =
      switch heap_root_kind(root.kind) {
      case HEAP_ROOT_GLOBAL: .global
      case HEAP_ROOT_STACK: .stack
      case HEAP_ROOT_REGISTER: .register
      case HEAP_ROOT_THREAD_LOCAL: .threadLocal
      case HEAP_ROOT_MAPPING: .mapping
      case HEAP_ROOT_IN_FLIGHT: .inFlight
      default: .unknownMemory
      }
    var name = text(root.symbol).map(Door.demangled)
    if kind == .global || kind == .threadLocal, let type = name?.firstIndex(of: ":") {
      // A variable is known by its name: its type stands behind it.
      name = name.map { String($0[..<type]) }
      while name?.last == " " { name?.removeLast() }
    }
    return Allocations.Root(
      kind: kind, isFirm: root.firm != 0, name: name, file: text(root.file), offset: Int(clamping: root.offset),
      thread: root.thread == 0 ? nil : Allocations.ThreadNumber(rawValue: root.thread))
  }

  // MARK: Both

  private func type(_ number: UInt32) -> RecordedType? { table.types[TypeID(rawValue: number)] }

  /// What the memory of a block tells, else its type.
  private func name(_ number: UInt32, _ note: UInt32) -> String {
    let known = type(number)
    if known == nil || known?.kind == .malloc, let note = text(note) { return parts(note).property ?? note }
    guard let known else { return "unknown" }
    return known.name.isEmpty ? known.kind?.rawValue ?? "unknown" : known.name
  }

  private static func serial(_ number: UInt64) -> Allocations.Serial? {
    number == 0 ? nil : Allocations.Serial(rawValue: number)
  }

  /// A label: a property, and behind a 1 the mangled function of a closure.
  private func parts(_ label: String) -> (property: String?, function: String?) {
    let parts = label.split(separator: "\u{1}", maxSplits: 1, omittingEmptySubsequences: false)
    var function = parts.count == 2 ? Door.demangled(String(parts[1])) : nil
    for what in ["partial apply forwarder for ", "typeinfo for "] where function?.hasPrefix(what) == true {
      function?.removeFirst(what.count)
    }
    return (parts.first.flatMap { $0.isEmpty ? nil : String($0) } ?? (parts.count == 2 ? nil : label), function)
  }

  private func reference(_ step: heap_report_step) -> Allocations.Reference {
    let (property, function) = text(step.label).map(parts) ?? (nil, nil)
    let strength: Allocations.Reference.Strength =
      switch heap_strength(step.strength) {
      case HEAP_STRONG: .strong
      case HEAP_WEAK: .weak
      case HEAP_UNOWNED: .unowned
      case HEAP_UNMANAGED: .unmanaged
      default: .conservative
      }
    return Allocations.Reference(
      type: name(step.type, step.name), place: step.inverted,
      serial: Self.serial(step.serial), property: property, function: function, offset: Int(step.offset),
      strength: strength)
  }
}
#endif
