// A small recording as analysis values, and names for its stacks without any file. Used by the renderers' tests.
import LifespanAnalysis
import LifespanReport
import LifespanSymbols
import LifespanTrace

enum Sample {
  static let image = CodeImage(path: "/home/me/App")

  static let node = TypeIdentity(
    id: TypeID(1), name: "App.Node", rawName: "App.Node", kind: .classInstance, module: "App", isTracked: true)
  static let array = TypeIdentity(
    id: TypeID(2), name: "Swift._ContiguousArrayStorage<App.Node>",
    rawName: "Swift._ContiguousArrayStorage<App.Node>", kind: .array, module: "Swift")
  static let closure = TypeIdentity(
    id: TypeID(3), name: "", rawName: "", kind: .closure, module: "", caller: ReturnAddress(0x2010))
  static let long = TypeIdentity(
    id: TypeID(4),
    name: "Swift._DictionaryStorage<Swift.String, Swift.Array<Swift.Dictionary<Swift.String, App.Value<App.Node>>>>",
    rawName: "", kind: .dictionary, module: "Swift")

  static var information: TraceInformation {
    var information = TraceInformation()
    information.program = "/home/me/App"
    information.pid = 7
    information.startedAt = "2026-11-30T03:00:00Z"
    information.capture = .complete
    information.eventsRecorded = 1_204_331
    information.end = TraceTime(12_400_000_000)
    information.marks = [
      .init(generation: Generation(0), name: "launched", time: TraceTime(1_000_000_000)),
      .init(generation: Generation(1), name: "B", time: TraceTime(2_500_000_000)),
    ]
    information.ending = TraceEnding(offset: 4_096, reason: .whole)
    return information
  }

  /// A recording that has no end yet.
  static var unfinished: TraceInformation {
    var information = information
    information.ending = TraceEnding(offset: 4_096, reason: .unfinished)
    return information
  }

  /// A recording with everything that can be missing.
  static var incomplete: TraceInformation {
    var information = information
    information.capture = .partial
    information.captureReason = "swift_release could not be detoured"
    information.lost = .init(births: 1_200, deaths: 30, others: 4)
    information.gaps = [
      .init(
        thread: ThreadID(2), from: TraceTime(3_000_000_000), to: TraceTime(3_250_000_000),
        lost: .init(births: 1_200, deaths: 30, others: 4), reason: .ringFull)
    ]
    information.ending = TraceEnding(offset: 123_456, reason: .cut)
    information.wasPaused = true
    information.olderEventsDropped = 1_007
    information.counters = ["ends_not_seen": 2, "stacks_full": 11]
    return information
  }

  static var names: ReportNames { ReportNames(stacks: Stacks(), symbolizer: Namer()) }

  static var statistics: Statistics {
    let rows = [
      row(node, 1_200, 57_600, 34_000, 1_632_000), row(array, 3, 12_345, 17, 2_048),
      row(long, 1, 704, 0, 0), row(closure, 2, 64, 1, 32),
    ]
    let total = rows.reduce(into: Tally()) { $0 += $1.tally }
    let kinds = rows.map { Statistics.KindTotal(kind: $0.type.kind, tally: $0.tally) }
      .sorted { $0.kind < $1.kind }
    return Statistics(lifespan: .living, rows: rows, total: total, totalsByKind: kinds)
  }

  static func row(
    _ type: TypeIdentity, _ living: Int, _ bytes: Int64, _ dead: Int, _ deadBytes: Int64
  ) -> Statistics.Row {
    .init(
      type: type,
      tally: Tally(
        persistentCount: living, persistentBytes: ByteCount(bytes), transientCount: dead,
        transientBytes: ByteCount(deadBytes)))
  }

  static var generations: Generations {
    func growth(_ number: UInt32, _ name: String, _ time: Int64, _ rows: [Generations.Row]) -> Generations.Growth {
      .init(
        generation: Generation(number), name: name, time: TraceTime(time),
        growthBytes: rows.reduce(.zero) { $0 + $1.persistentBytes },
        persistentCount: rows.reduce(0) { $0 + $1.persistentCount }, rows: rows)
    }
    func row(_ type: TypeIdentity, _ count: Int, _ bytes: Int64) -> Generations.Row {
      .init(type: type, persistentCount: count, persistentBytes: ByteCount(bytes))
    }
    return Generations(
      atMark: false,
      closed: [
        growth(0, "launched", 1_000_000_000, [row(array, 2, 12_000), row(node, 1_000, 48_000)]),
        growth(1, "B", 2_500_000_000, []),
      ],
      open: growth(2, "C", 12_400_000_000, [row(node, 200, 9_600), row(closure, 2, 64)]))
  }

  static var objects: ObjectList {
    func object(_ serial: UInt64, _ died: Int64?, _ generation: UInt32, _ state: ObjectRecord.State) -> ObjectRecord {
      let born = Int64(serial) * 1_000_500
      return ObjectRecord(
        serial: SerialNumber(serial), address: ObjectAddress(0x7f00_0000_1000 + serial * 48), type: node,
        size: ByteCount(48), born: TraceTime(born), died: died.map { TraceTime($0) },
        freed: state == .freed ? died.map { TraceTime($0) } : nil, age: (died ?? 12_400_000_000) - born,
        thread: ThreadID(1), task: serial == 12 ? TaskID(3) : nil, stack: StackID(2),
        generation: Generation(generation), state: state)
    }
    return ObjectList(
      objects: [
        object(12, nil, 0, .living), object(14, 900_000_000, 0, .freed), object(2_099, nil, 2, .deinitedMemoryKept),
      ], count: 5, bytes: ByteCount(240),
      groups: [
        .init(
          type: node, stack: StackID(2), count: 4, bytes: ByteCount(192),
          serials: [SerialNumber(12), SerialNumber(14)]),
        .init(type: node, stack: StackID(3), count: 1, bytes: ByteCount(48), serials: [SerialNumber(2_099)]),
      ])
  }

  static var history: History {
    func event(
      _ number: Int, _ kind: History.Kind, _ change: Int, _ after: Int?, _ stack: UInt32,
      _ flavour: History.Flavour? = nil
    ) -> History.Event {
      .init(
        number: number, kind: kind, flavour: flavour, change: change, countAfter: after,
        time: TraceTime(12_006_000 + Int64(number) * 1_000), thread: ThreadID(1), task: number == 2 ? TaskID(3) : nil,
        stack: StackID(stack))
    }
    var misuse = event(7, .misuse, 0, nil, 3)
    misuse.misuse = .escaped
    misuse.left = 1
    return History(
      object: objects.objects[0],
      events: [
        event(1, .birth, 1, 1, 2), event(2, .retain, 1, 2, 3, .weakLoad), event(3, .retain, 1, 3, 2, .strong),
        event(4, .release, -1, 2, 1, .strong), event(5, .release, -2, 0, 2, .strong), event(5, .deinitBegins, 0, 0, 2),
        event(6, .death, 0, 0, 0), misuse,
      ], others: [objects.objects[1]])
  }

  static var difference: Difference {
    func amount(_ count: Int, _ bytes: Int64) -> Difference.Amount { .init(count: count, bytes: ByteCount(bytes)) }
    let rows = [
      Difference.Row(
        type: node,
        change: .init(
          new: amount(200, 9_600), dead: amount(12, 576), survived: amount(988, 47_424), transient: amount(7, 336))),
      Difference.Row(type: closure, change: .init(new: amount(2, 64))),
    ]
    return Difference(
      from: .mark("launched"), to: .time(TraceTime(12_000_000_000)), rows: rows,
      total: rows.reduce(into: .init()) { $0 += $1.change })
  }

  struct Stacks: StackSource {
    func stack(_ id: StackID) -> StackTrace {
      func frames(_ addresses: UInt64...) -> [CodeLocation] {
        addresses.map { CodeLocation(image: image, address: .returnAddress($0)) }
      }
      return id == StackID(2)
        ? StackTrace(locations: frames(0x1008, 0x2010, 0x3020))
        : StackTrace(locations: frames(0x1008, 0x4000), ending: "cut at the depth limit")
    }

    func location(of address: ReturnAddress) -> CodeLocation {
      CodeLocation(image: image, address: .returnAddress(address.rawValue))
    }
  }

  struct Namer: FrameNamer {
    var notes: [SymbolNote] { [] }

    func frame(at location: CodeLocation) -> Frame {
      let name: (String, FrameOrigin)
      switch location.address.value >> 12 {
      case 1: name = ("swift_allocObject", .runtime)
      case 2: name = ("Worker.start(_:)", .program)
      case 3: name = ("main", .program)
      default: return Frame(function: "App + 0x\(String(location.address.value, radix: 16))", module: "App")
      }
      return Frame(function: name.0, offset: location.address.value & 0xfff, module: "App", origin: name.1)
    }
  }
}
