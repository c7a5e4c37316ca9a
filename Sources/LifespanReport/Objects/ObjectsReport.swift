// The report of `lifespan objects`: the single objects. Text, CSV and Markdown; JSON stands beside it.
import LifespanAnalysis
import LifespanTrace

/// A list of objects, ready to be written.
public struct ObjectsReport {
  let list: ObjectList
  let subject: ReportSubject
  var information: TraceInformation { subject.information }
  let names: ReportNames
  /// A filter left only some objects.
  let isFiltered: Bool
  /// For how long nobody has retained or released them is shown among the usual columns.
  let showsIdle: Bool

  /// A report of an answer.
  public init(
    _ list: ObjectList, subject: ReportSubject, names: ReportNames, isFiltered: Bool = false, showsIdle: Bool = false
  ) {
    self.isFiltered = isFiltered
    self.showsIdle = showsIdle
    self.list = list
    self.subject = subject
    self.names = names
  }

  static let columns = [
    GridColumn(key: "serial", title: "Serial", isNumber: false),
    GridColumn(key: "address", title: "Address", isNumber: false),
    GridColumn(key: "size", title: "Size"),
    GridColumn(key: "born_ns", title: "Born", sortsDown: false),
    GridColumn(key: "age_ns", title: "Age"),
    GridColumn(key: "idle_ns", title: "Idle"),
    GridColumn(key: "retain_count", title: "Count"),
    GridColumn(key: "died_ns", title: "Died", sortsDown: false),
    GridColumn(key: "state", title: "State", isNumber: false),
    GridColumn(key: "thread", title: "Thread"),
    GridColumn(key: "generation", title: "Generation", isNumber: false, canShrink: true),
    GridColumn(key: "allocated_by", title: "Allocated by", isNumber: false, canShrink: true),
    GridColumn(key: "type", title: "Type", isNumber: false, canShrink: true),
  ]

  /// Keys that `--columns` and `--sort` take.
  public static let columnKeys = columns.map(\.key)

  /// Their state only where it tells some of them from others, their counts where some are known. What then has no room in a
  /// line is said by others: a freed one has died, the age tells the birth.
  private func usualColumns(_ objects: [ObjectRecord]) -> [String] {
    var isMixed = objects.contains { $0.state != objects[0].state }
    let died = showsIdle && objects.allSatisfy { $0.died == nil } ? [] : ["died_ns"]
    let count = objects.contains { $0.retainCount != nil } ? ["retain_count"] : []
    if !count.isEmpty, objects.allSatisfy({ $0.state == .living || $0.state == .freed }) { isMixed = false }
    let born = showsIdle || (isMixed && !count.isEmpty) ? [] : ["born_ns"]
    return ["serial", "address", "size"] + born + ["age_ns"] + (showsIdle ? ["idle_ns"] : []) + died + count
      + (isMixed ? ["state"] : []) + ["allocated_by", "type"]
  }

  /// The whole report, ending with a newline. Objects beyond the list's own limit are counted, not listed.
  public func render(_ options: ReportOptions) -> String {
    var text = ""
    write(options) { text += $0 }
    return text
  }

  /// Hands out the whole report piece by piece: json and csv may be larger than memory.
  public func write(_ options: ReportOptions, to use: (String) -> Void) {
    let places = options.cut(order(by: options.sort))
    switch options.format {
    case .json: json(places).write(use)
    case .csv: csv(places, options.columns, use)
    case .table, .markdown, .junit: use(text(places, options))
    }
  }

  private func csv(_ places: [Int], _ columns: [String]?, _ use: (String) -> Void) {
    let pieceLength = 4_096
    for start in stride(from: 0, to: max(1, places.count), by: pieceLength) {
      let piece = places[start..<min(start + pieceLength, places.count)]
      let lines = grid(piece.map { list.objects[$0] }).selecting(columns).csvLines()
      use((start == 0 ? lines[...] : lines.dropFirst()).joined(separator: "\n") + "\n")
    }
  }

  private func text(_ places: [Int], _ options: ReportOptions) -> String {
    let objects = places.map { list.objects[$0] }
    let columns = options.columns ?? usualColumns(objects)
    let shown = grid(objects).selecting(columns)
    if let text = options.plainText(shown, subject) { return text }
    var lines = Preface.lines(subject, style: options.style)
    lines.insert(
      "\(Units.things(list.count, "object")), \(Units.bytes(list.bytes.rawValue))", at: lines.count - 1)
    if shown.rows.isEmpty {
      if list.count == 0 { lines.append(isFiltered ? "no object passes the filters" : "there is no such object") }
    } else {
      lines += shown.tableLines(style: options.style)
    }
    lines += options.rest(of: list.count, shown: places.count, "object")
    lines += Footnotes.kept(list.keptCount, list.keptBytes) + Footnotes.ages(subject)
    if columns.contains("idle_ns") || options.columns?.contains("retain_count") == true {
      lines += Footnotes.references(of: Set(objects.map(\.type)).map { $0 }, information)
    }
    lines += Preface.closing(names, style: options.style)
    return options.style.text(lines)
  }

  /// Serials are words to the eye and numbers to the order.
  private func order(by key: String?) -> [Int] {
    guard let key, key != "serial", let column = Self.columns.firstIndex(where: { $0.key == key }) else {
      return Array(list.objects.indices)
    }
    // Millions of rows have no room beside each other, one column of them has.
    return Grid.order(of: list.objects.map { cell(column, $0) }, down: Self.columns[column].sortsDown)
  }

  private func grid(_ objects: [ObjectRecord]) -> Grid {
    var grid = Grid(columns: Self.columns)
    grid.rows = objects.map { object in Self.columns.indices.map { cell($0, object) } }
    return grid
  }

  private func cell(_ column: Int, _ object: ObjectRecord) -> Cell {
    switch Self.columns[column].key {
    case "serial": .word("@\(object.serial)")
    case "address": .word(object.address?.description ?? "-")
    case "size": .bytes(object.size.rawValue)
    case "born_ns": .moment(object.born.rawValue)
    case "age_ns": .moment(object.age)
    case "idle_ns": .moment(object.idle)
    case "retain_count": .known(object.retainCount)
    case "died_ns": .moment(object.died?.rawValue)
    case "state": .word(ObjectsText.word(object.state))
    case "thread": .count(Int64(object.thread.rawValue))
    case "generation": .word(GenerationNames.name(of: object.generation, in: information) ?? "(open)")
    case "allocated_by": .word(names.allocator(of: object.stack)?.function ?? "-")
    default: .word(names.name(of: object.type))
    }
  }
}

/// Words for objects.
enum ObjectsText {
  /// In a column.
  static func word(_ state: ObjectRecord.State) -> String {
    state == .deinitedMemoryKept ? "deinited" : Self.state(state)
  }

  static func state(_ state: ObjectRecord.State) -> String {
    switch state {
    case .living: return "living"
    case .deinitedMemoryKept: return "deinited, memory kept"
    case .freed: return "freed"
    case .endNotSeen: return "end not seen"
    }
  }
}

/// The names of generations by their marks.
enum GenerationNames {
  /// Nil for the one after the last mark.
  static func name(of generation: Generation, in information: TraceInformation) -> String? {
    information.marks.first { $0.generation == generation }?.name
  }
}
