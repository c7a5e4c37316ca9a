// Encodes events into EVENTS chunks: the writing counterpart of EventDecoder. Used by TraceWriter.
import CTraceFormat

/// Turns events into payloads. Keeps what lives (serial, address, size), as the reader does.
struct EventEncoder {
  private struct Living {
    var address: UInt64?
    var size: ByteCount
  }

  private let ticksPerUnit: Int64
  private let left: EventColumns
  private var living: [SerialNumber: Living] = [:]
  private var newest: UInt64 = 0
  private var events: UInt64 = 0
  private var open = Generation(0)
  private var chunk: Chunk

  /// `left`: optional columns that are left out.
  init(header: TraceHeader, leaving left: EventColumns) {
    ticksPerUnit = Int64(header.ticksPerUnit)
    self.left = left
    chunk = Chunk(firstEvent: 0, serialBefore: 0)
  }

  /// Index of the next event.
  var nextEvent: UInt64 { events }
  /// Events in the chunk that is open.
  var pending: Int { chunk.kinds.count }

  /// A mark: from the next event on, births belong to that generation by position.
  mutating func beginGeneration(_ generation: Generation) { open = generation }

  mutating func add(_ event: TraceEvent, site: SiteRecord?) {
    let offset = UInt64(chunk.kinds.count)
    var kind = event.kind.rawValue
    if event.stack != nil { kind |= UInt8(LIFESPAN_EVENT_HAS_STACK) }
    if event.amount != nil { kind |= UInt8(LIFESPAN_EVENT_HAS_AMOUNT) }
    chunk.kinds.append(kind)
    // Rounded down, also below zero: a unit holds the ticks that begin with it.
    let (units, rest) = event.time.rawValue.quotientAndRemainder(dividingBy: ticksPerUnit)
    chunk.addTime(rest < 0 ? units - 1 : units)
    chunk.threads.add(UInt64(event.thread.rawValue))
    chunk.tasks.add(event.task.rawValue)
    if let stack = event.stack { chunk.addStack(stack) }
    if let amount = event.amount { chunk.addAmount(amount) }
    if event.kind == .birth, let serial = event.serial, let site {
      birth(event, serial, site, offset)
    } else {
      other(event, site)
    }
    events += 1
  }

  private mutating func birth(_ event: TraceEvent, _ serial: SerialNumber, _ site: SiteRecord, _ offset: UInt64) {
    chunk.sites.varint(event.site?.rawValue ?? 0)
    let gap = serial.rawValue &- newest &- 1
    chunk.serials.varint(gap)
    chunk.hasGaps = chunk.hasGaps || gap != 0
    newest = serial.rawValue
    let address = event.address?.rawValue ?? 0
    chunk.addresses.varint(chunk.predictions[site.size, default: AddressPrediction()].encode(address))
    living[serial] = Living(address: left.contains(.addresses) ? nil : address, size: site.size)
    if let generation = event.generation, generation != open { chunk.addException(offset, generation) }
  }

  private mutating func other(_ event: TraceEvent, _ site: SiteRecord?) {
    guard let serial = event.serial else {
      chunk.objects.varint(UInt8(0))
      chunk.unknown.varint(event.address?.rawValue ?? 0)
      if event.kind == .moved { chunk.addMove(delta: 0, site: event.site) }
      return
    }
    chunk.objects.varint(newest &- serial.rawValue &+ 1)
    let state = living[serial]
    switch event.kind {
    case .moved:
      let delta = Int64(bitPattern: (event.address?.rawValue ?? 0) &- (state?.address ?? 0))
      chunk.addMove(delta: delta, site: event.site)
      if let site { living[serial]?.size = site.size }
      if state?.address != nil { living[serial]?.address = event.address?.rawValue }
    case .death, .free, .plainFree:
      if let state, let address = state.address {
        chunk.predictions[state.size, default: AddressPrediction()].push(address)
      }
      living[serial] = nil
    case .endNotSeen:
      living[serial] = nil
    default:
      break
    }
  }

  /// The payload of the events since the last call; nil when there were none.
  mutating func takePayload() -> [UInt8]? {
    guard !chunk.kinds.isEmpty else { return nil }
    let payload = chunk.payload(leaving: left)
    chunk = Chunk(firstEvent: events, serialBefore: newest)
    return payload
  }
}

extension EventEncoder {
  /// Equal values in a row.
  private struct Runs {
    private(set) var writer = ByteWriter()
    private var value: UInt64 = 0
    private var length: UInt64 = 0
    private(set) var isAllZero = true

    mutating func add(_ value: UInt64) {
      if value != self.value { flush() }
      self.value = value
      length += 1
      isAllZero = isAllZero && value == 0
    }

    mutating func flush() {
      guard length > 0 else { return }
      writer.varint(length)
      writer.varint(value)
      length = 0
    }
  }

  /// The columns of the open chunk.
  private struct Chunk {
    let firstEvent: UInt64
    let serialBefore: UInt64
    var kinds: [UInt8] = []
    var threads = Runs()
    var tasks = Runs()
    var sites = ByteWriter()
    var objects = ByteWriter()
    var addresses = ByteWriter()
    var unknown = ByteWriter()
    var serials = ByteWriter()
    var hasGaps = false
    var predictions: [ByteCount: AddressPrediction] = [:]
    private var times = ByteWriter()
    private var stacks = ByteWriter()
    private var amounts = ByteWriter()
    private var generations = ByteWriter()
    private var moves = ByteWriter()
    private var baseTime: Int64 = 0
    private var time: Int64 = 0
    private var stack: Int64 = 0
    private var exception: UInt64 = 0

    init(firstEvent: UInt64, serialBefore: UInt64) {
      self.firstEvent = firstEvent
      self.serialBefore = serialBefore
    }

    mutating func addTime(_ units: Int64) {
      if kinds.count == 1 {
        baseTime = units
        time = units
      }
      times.zigzag(units &- time)
      time = units
    }

    mutating func addStack(_ id: StackID) {
      stacks.zigzag(Int64(id.rawValue) - stack)
      stack = Int64(id.rawValue)
    }

    mutating func addAmount(_ amount: EventAmount) {
      amounts.varint(amount.flavour)
      amounts.varint(amount.amount)
      amounts.varint(amount.countBefore.map { UInt64($0) + 1 } ?? 0)
    }

    mutating func addException(_ offset: UInt64, _ generation: Generation) {
      generations.varint(offset - exception)
      generations.varint(generation.rawValue)
      exception = offset
    }

    mutating func addMove(delta: Int64, site: SiteID?) {
      moves.zigzag(delta)
      moves.varint(site?.rawValue ?? 0)
    }

    mutating func payload(leaving left: EventColumns) -> [UInt8] {
      threads.flush()
      tasks.flush()
      var head = ByteWriter()
      head.varint(firstEvent)
      head.varint(UInt64(kinds.count))
      head.varint(serialBefore)
      head.zigzag(baseTime)
      var payload = ByteWriter()
      func put(_ column: lifespan_event_column, _ bytes: [UInt8], if wanted: Bool = true) {
        if wanted { payload.column(UInt8(column.rawValue), bytes) }
      }
      put(LIFESPAN_COLUMN_HEAD, head.bytes)
      put(LIFESPAN_COLUMN_KINDS, kinds)
      put(LIFESPAN_COLUMN_THREADS, threads.writer.bytes, if: !left.contains(.threads))
      put(LIFESPAN_COLUMN_TIMES, times.bytes, if: !left.contains(.times))
      put(LIFESPAN_COLUMN_SITES, sites.bytes)
      put(LIFESPAN_COLUMN_OBJECTS, objects.bytes)
      put(LIFESPAN_COLUMN_ADDRESSES, addresses.bytes, if: !left.contains(.addresses))
      put(LIFESPAN_COLUMN_UNKNOWN, unknown.bytes, if: !unknown.bytes.isEmpty && !left.contains(.addresses))
      put(LIFESPAN_COLUMN_STACKS, stacks.bytes, if: !stacks.bytes.isEmpty && !left.contains(.stacks))
      put(LIFESPAN_COLUMN_AMOUNTS, amounts.bytes, if: !amounts.bytes.isEmpty && !left.contains(.amounts))
      put(LIFESPAN_COLUMN_TASKS, tasks.writer.bytes, if: !tasks.isAllZero && !left.contains(.tasks))
      put(LIFESPAN_COLUMN_GENERATIONS, generations.bytes, if: !generations.bytes.isEmpty)
      put(LIFESPAN_COLUMN_SERIALS, serials.bytes, if: hasGaps)
      put(LIFESPAN_COLUMN_MOVES, moves.bytes, if: !moves.bytes.isEmpty)
      return payload.bytes
    }
  }
}
