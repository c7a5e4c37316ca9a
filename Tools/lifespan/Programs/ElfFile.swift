// The few facts of an ELF file that decide whether a program can be recorded. Reads with bounds checks: the file is not
// trusted. Used by ProgramFacts. (Names of addresses are LifespanSymbols' work.)

import Glibc

/// A mapped 64-bit little-endian ELF file.
final class ElfFile {
  struct Section {
    let name: String
    let type: UInt32
    let offset: Int
    let size: Int
    let link: Int
    let entrySize: Int
  }

  static let x86_64: UInt16 = 62
  private static let interpreter: UInt32 = 3
  private static let dynamic: UInt32 = 2
  private static let load: UInt32 = 1
  static let symbolTable: UInt32 = 2

  private let bytes: UnsafeRawBufferPointer
  let machine: UInt16
  /// The dynamic linker's path; nil in a static executable and in most libraries.
  private(set) var interpreter: String?
  /// The lowest address that it is loaded to, before the dynamic linker adds its own.
  private(set) var firstAddress: UInt64?
  private(set) var sections: [Section] = []
  private var dynamicSegment: Range<Int>?

  /// Nil when it is no ELF file of 64 bits, little-endian, or cannot be read.
  init?(path: String) {
    guard let mapped = Self.map(path) else { return nil }
    bytes = mapped
    let isElf = mapped.count >= 64 && mapped.prefix(6).elementsEqual([0x7f, 0x45, 0x4c, 0x46, 2, 1])
    machine = isElf ? mapped.loadUnaligned(fromByteOffset: 18, as: UInt16.self) : 0
    guard isElf else { return nil }
    readSegments()
    readSections()
  }

  deinit { munmap(UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count) }

  private static func map(_ path: String) -> UnsafeRawBufferPointer? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size >= 4 else { return nil }
    let size = Int(status.st_size)
    guard let at = mmap(nil, size, PROT_READ, MAP_PRIVATE, file, 0), at != MAP_FAILED else { return nil }
    return UnsafeRawBufferPointer(start: at, count: size)
  }

  private func number<Value: FixedWidthInteger>(_ offset: Int, as type: Value.Type) -> Value? {
    guard offset >= 0, offset <= bytes.count - MemoryLayout<Value>.size else { return nil }
    return bytes.loadUnaligned(fromByteOffset: offset, as: type)
  }

  private func place(_ offset: Int) -> Int? {
    number(offset, as: UInt64.self).flatMap { Int(exactly: $0) }.flatMap { $0 <= bytes.count ? $0 : nil }
  }

  /// A zero-terminated string of the file.
  func string(at offset: Int) -> String? {
    guard offset >= 0, offset < bytes.count else { return nil }
    let rest = bytes[offset...]
    guard let end = rest.firstIndex(of: 0) else { return nil }
    return String(decoding: rest[..<end], as: UTF8.self)
  }

  private func readSegments() {
    guard let table = place(32), let size = number(54, as: UInt16.self), let count = number(56, as: UInt16.self)
    else { return }
    for index in 0..<Int(count) {
      let row = table + index * Int(size)
      guard let type = number(row, as: UInt32.self), let offset = place(row + 8), let length = place(row + 32),
        offset + length <= bytes.count
      else { continue }
      if type == Self.load, firstAddress == nil {
        firstAddress = number(row + 16, as: UInt64.self).map { $0 & ~4095 }
      }
      if type == Self.interpreter { interpreter = string(at: offset) }
      if type == Self.dynamic { dynamicSegment = offset..<(offset + length) }
    }
  }

  private func readSections() {
    guard let table = place(40), let size = number(58, as: UInt16.self), let count = number(60, as: UInt16.self),
      let names = number(62, as: UInt16.self), let nameTable = place(table + Int(names) * Int(size) + 24)
    else { return }
    for index in 0..<Int(count) {
      let row = table + index * Int(size)
      guard let name = number(row, as: UInt32.self), let type = number(row + 4, as: UInt32.self),
        let offset = place(row + 24), let length = place(row + 32), let link = number(row + 40, as: UInt32.self),
        let entry = place(row + 56)
      else { continue }
      // A section without bytes in the file (.bss) may be longer than the file.
      let held = offset + length <= bytes.count ? length : 0
      sections.append(
        Section(
          name: string(at: nameTable + Int(name)) ?? "", type: type, offset: offset, size: held, link: Int(link),
          entrySize: entry))
    }
  }

  func hasSection(_ name: String) -> Bool { sections.contains { $0.name == name } }

  /// The libraries that it names as needed.
  var needed: [String] {
    guard let dynamicSegment, let strings = sections.first(where: { $0.name == ".dynstr" }) else { return [] }
    return stride(from: dynamicSegment.lowerBound, to: dynamicSegment.upperBound - 15, by: 16).compactMap { row in
      guard number(row, as: Int64.self) == 1, let name = number(row + 8, as: UInt64.self),
        let offset = Int(exactly: name), offset < strings.size
      else { return nil }
      return string(at: strings.offset + offset)
    }
  }

  /// True when the symbol table of that kind defines any of the names.
  func defines(_ names: Set<String>, in type: UInt32) -> Bool {
    for table in sections where table.type == type && table.entrySize >= 24 {
      guard sections.indices.contains(table.link) else { continue }
      let strings = sections[table.link]
      for row in stride(from: table.offset, to: table.offset + table.size - 23, by: table.entrySize) {
        guard let name = number(row, as: UInt32.self), let section = number(row + 6, as: UInt16.self), section != 0,
          Int(name) < strings.size, matches(names, at: strings.offset + Int(name))
        else { continue }
        return true
      }
    }
    return false
  }

  /// Where the functions lie whose names hold one of these words and begin with one of these; addresses of the file. Empty without a full
  /// symbol table.
  func functions(beginning: [StaticString], holding words: [String]) -> [Range<UInt64>] {
    var found: [Range<UInt64>] = []
    for table in sections where table.type == Self.symbolTable && table.entrySize >= 24 {
      guard sections.indices.contains(table.link), let base = bytes.baseAddress else { continue }
      let strings = sections[table.link]
      guard strings.size > 0, bytes[strings.offset + strings.size - 1] == 0 else { continue }
      for row in stride(from: table.offset, to: table.offset + table.size - 23, by: table.entrySize) {
        guard let name = number(row, as: UInt32.self), Int(name) < strings.size,
          let kind = number(row + 4, as: UInt8.self), kind & 0xf == 2,
          let start = number(row + 8, as: UInt64.self), let size = number(row + 16, as: UInt64.self), size > 0
        else { continue }
        let text = (base + strings.offset + Int(name)).assumingMemoryBound(to: CChar.self)
        guard beginning.contains(where: { strncmp(text, $0.utf8Start, $0.utf8CodeUnitCount) == 0 }),
          words.contains(where: { strstr(text, $0) != nil })
        else { continue }
        let (end, overflow) = start.addingReportingOverflow(size)
        if !overflow { found.append(start..<end) }
      }
    }
    return found
  }

  /// Compares without making a String of every symbol: there are hundreds of thousands.
  private func matches(_ names: Set<String>, at offset: Int) -> Bool {
    for name in names where offset + name.utf8.count < bytes.count {
      if bytes[offset + name.utf8.count] == 0, bytes[offset..<(offset + name.utf8.count)].elementsEqual(name.utf8) {
        return true
      }
    }
    return false
  }

  /// The bytes of a section; empty when it is not there.
  func contents(_ name: String) -> UnsafeRawBufferPointer {
    guard let section = sections.first(where: { $0.name == name }), section.offset + section.size <= bytes.count
    else { return UnsafeRawBufferPointer(start: nil, count: 0) }
    return UnsafeRawBufferPointer(rebasing: bytes[section.offset..<(section.offset + section.size)])
  }
}
