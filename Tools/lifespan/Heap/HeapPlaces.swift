// Names of the places outside of the heap that hold blocks: variables, thread-locals, frames of stacks. Used by HeapGraphMaking.

import CHeap
import Glibc
import LifespanSymbols
import LifespanTrace

/// Names places of one frozen process.
struct HeapPlaces {
  private let heap: OpaquePointer
  private let threads: [HeapThread]
  let names = VariableNames()

  init(_ heap: OpaquePointer, _ threads: [HeapThread]) {
    self.heap = heap
    self.threads = threads
  }

  /// A name for what a root stands in, and how far in it stands.
  func name(of root: heap_root) -> (text: String, offset: UInt64) {
    switch heap_root_kind(UInt32(root.kind)) {
    case HEAP_ROOT_GLOBAL: return variable(root.place)
    case HEAP_ROOT_STACK: return ("stack of \(thread(root.thread))" + frame(root), 0)
    case HEAP_ROOT_REGISTER: return ("register of \(thread(root.thread))" + code(at: pc(root.thread)), 0)
    case HEAP_ROOT_THREAD_LOCAL: return threadLocal(root)
    case HEAP_ROOT_MAPPING: return mapping(root.place)
    case HEAP_ROOT_IN_FLIGHT: return ("being moved", 0)
    default: return ("memory that the recorder does not know", 0)
    }
  }

  private func thread(_ index: UInt32) -> String {
    guard Int(index) < threads.count else { return "a thread" }
    let thread = threads[Int(index)]
    let number = thread.number == 0 ? "thread \(thread.tid)" : "thread \(thread.number)"
    return thread.name.isEmpty ? number : number + " \"\(thread.name)\""
  }

  private func pc(_ index: UInt32) -> UInt64 {
    Int(index) < threads.count ? threads[Int(index)].registers.pc : 0
  }

  private func variable(_ address: UInt64) -> (String, UInt64) {
    var symbol = heap_symbol()
    if heap_variable(heap, address, &symbol), let name = symbol.name {
      return (names.variable(String(cString: name)), symbol.offset)
    }
    return mapping(address)
  }

  private func mapping(_ address: UInt64) -> (String, UInt64) {
    let path = heap_file(heap, address).map { String(cString: $0) } ?? ""
    let name = FilePath.name(path)
    return (name.isEmpty ? "memory that the program has mapped" : "data of \(name)", 0)
  }

  private func threadLocal(_ root: heap_root) -> (String, UInt64) {
    var symbol = heap_symbol()
    if heap_thread_local(heap, root.thread, root.place, &symbol), let name = symbol.name {
      return ("thread-local \(names.variable(String(cString: name))) of \(thread(root.thread))", symbol.offset)
    }
    return ("thread-local storage of \(thread(root.thread))", 0)
  }

  private func frame(_ root: heap_root) -> String {
    var symbol = heap_symbol()
    guard Int(root.thread) < threads.count, heap_frame(heap, root.thread, root.place, &symbol), let name = symbol.name
    else { return "" }
    return ", frame \(names.function(String(cString: name)))"
  }

  private func code(at address: UInt64) -> String {
    var symbol = heap_symbol()
    guard heap_function(heap, address, &symbol), let name = symbol.name else { return "" }
    return ", frame \(names.function(String(cString: name)))"
  }
}

/// Mangled names of variables and functions as a person reads them, each once.
final class VariableNames {
  private typealias Swift =
    @convention(c) (
      UnsafePointer<CChar>, Int, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?, UInt32
    ) -> UnsafeMutablePointer<CChar>?

  private let demangler = Demangler()
  private let whole: Swift? = dlsym(nil, "swift_demangle").map { unsafeBitCast($0, to: Swift.self) }
  private var known: [String: String] = [:]

  /// With its module and without its type: `MyApp.cache`.
  func variable(_ mangled: String) -> String {
    remember(mangled) {
      let name = demangled(mangled)
      guard let type = name.firstRange(of: " : ") else { return name }
      return String(name[..<type.lowerBound])
    }
  }

  func function(_ mangled: String) -> String { remember(mangled) { demangler.demangle(mangled) } }

  private func demangled(_ mangled: String) -> String {
    if mangled.hasPrefix("$s"), let text = whole?(mangled, mangled.utf8.count, nil, nil, 0) {
      defer { free(text) }
      return String(cString: text)
    }
    return demangler.demangle(mangled)
  }

  private func remember(_ mangled: String, _ make: () -> String) -> String {
    if let name = known[mangled] { return name }
    let name = make()
    known[mangled] = name
    return name
  }
}
