// What blocks without a type of their own are to the library that made them, and what stands in them: told by the function that made them, or
// by what their memory tells. Used by HeapText. Layouts of the Foundation and libdispatch of Swift 6.3, as their sources have them.
import LifespanHeap

/// The part that a block plays.
struct HeapRole: Equatable {
  /// What it is; nil where its type says that.
  var name: String?
  /// What refers to other blocks, by where it stands.
  var fields: [UInt32: String] = [:]
  /// What any other reference in it is.
  var others = ""

  func label(at offset: UInt32) -> String { fields[offset] ?? others }

  /// By the function that made it.
  static func made(by function: String, _ type: String) -> HeapRole? {
    if let role = makers[function] { return role }
    // Work items are used again for other work than they were made for.
    let isDispatchs = function.hasPrefix("_dispatch_") || function.hasPrefix("dispatch_")
    return isDispatchs && type == "malloc 64 B"
      ? HeapRole(name: "work item", fields: [16: "next", 40: "context"]) : nil
  }

  /// By its type, or the name that its memory told.
  static func named(_ name: String) -> HeapRole? { names[name] }

  private static let element = "[…]"
  private static let handlers: [UInt32: String] = [0: "event handler", 8: "cancel handler", 16: "registration handler"]
  private static func handlers(at offset: UInt32) -> [UInt32: String] {
    Dictionary(uniqueKeysWithValues: handlers.map { ($0.key + offset, $0.value) })
  }

  private static let makers: [String: HeapRole] = [
    "_Block_copy": HeapRole(name: "block"),
    "_dispatch_timer_heap_grow": HeapRole(name: "libdispatch's timers", others: element),
    "_dispatch_source_timer_create": HeapRole(name: "timer of a source", fields: handlers(at: 40)),
    // Behind three words that link it to the others of its descriptor.
    "_dispatch_unote_create": HeapRole(name: "registration of a source", fields: handlers(at: 64)),
    "_dispatch_unote_register_muxed": HeapRole(name: "watched descriptor", others: "source"),
    "__CFBasicHashRehash": HeapRole(name: "hash table", others: element),
    "_CFArrayReplaceValues": HeapRole(name: "array's storage", others: element),
    "_CFSetTSD": HeapRole(name: "CoreFoundation's of a thread", fields: [88: "run loop"]),
    "_CFGetTSDCreateIfNeeded": HeapRole(name: "CoreFoundation's of a thread", fields: [88: "run loop"]),
    "CFRunLoopPerformBlock": HeapRole(name: "block to perform", fields: [0: "next", 16: "block"]),
  ]

  private static let names: [String: HeapRole] = [
    "Foundation._NSCFArray": HeapRole(fields: [48: "storage"]),
    "Foundation._NSCFSet": HeapRole(fields: [48: "values"]),
    "Foundation._NSCFDictionary": HeapRole(fields: [48: "values", 56: "keys"]),
    "dispatch_source": HeapRole(fields: [88: "registration"]),
    "dispatch_queue_serial": HeapRole(fields: [48: "first item"]),
  ]
}

extension HeapText {
  /// What its memory, its type or its maker makes of it.
  static func role(of step: HeapStep, _ names: ReportNames) -> HeapRole? {
    if let role = HeapRole.named(step.note) ?? HeapRole.named(step.type.name) { return role }
    return maker(of: step, names).flatMap { HeapRole.made(by: $0, step.type.name) }
  }

  /// What is known of it beyond its type: `CFRunLoop`, `work item`, else the function that made what has no type.
  static func note(_ step: HeapStep, _ names: ReportNames) -> String? {
    if !step.note.isEmpty { return step.note }
    return role(of: step, names)?.name ?? maker(of: step, names)
  }

  /// The property that refers: the picture's own, else what its role says; empty: not known.
  static func label(_ step: HeapStep, _ names: ReportNames) -> String {
    step.label.isEmpty ? role(of: step, names)?.label(at: step.offset) ?? "" : step.label
  }
}
