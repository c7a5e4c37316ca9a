// Opens an ELF file by libelf and reads what names functions: symbol tables, build-id, debug link. Used by ImageSymbols.
import CElf
import Glibc

/// Why an ELF file can't be read.
enum ElfError: Error, Equatable {
  case cannotOpen(String)
  case notElf
}

/// One open ELF file. Closed with the value's last reference; nothing read from it points into it afterwards.
final class ElfFile {
  private let descriptor: Int32
  private let handle: OpaquePointer

  init(path: String) throws(ElfError) {
    guard elf_version(UInt32(EV_CURRENT)) != UInt32(EV_NONE) else { throw .notElf }
    // Paths come out of a trace: one that is a pipe or a device by now must neither hang us nor be read.
    let opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard opened >= 0 else { throw .cannotOpen(String(cString: strerror(errno))) }
    var status = stat()
    guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(opened)
      throw .notElf
    }
    guard let elf = elf_begin(opened, ELF_C_READ, nil) else {
      close(opened)
      throw .notElf
    }
    guard elf_kind(elf) == ELF_K_ELF else {
      elf_end(elf)
      close(opened)
      throw .notElf
    }
    descriptor = opened
    handle = elf
  }

  deinit {
    elf_end(handle)
    close(descriptor)
  }

  /// The bytes of the GNU build-id note; empty when the file has none.
  func buildID() -> BuildID {
    for (section, header) in sections() where header.sh_type == UInt32(SHT_NOTE) {
      guard let data = elf_getdata(section, nil), let bytes = data.pointee.d_buf else { continue }
      var offset = 0
      while true {
        var note = GElf_Nhdr()
        var name = 0
        var content = 0
        let next = gelf_getnote(data, offset, &note, &name, &content)
        guard next > 0 else { break }
        offset = next
        guard note.n_type == UInt32(NT_GNU_BUILD_ID), note.n_namesz == 4,
          memcmp(bytes + name, "GNU", 4) == 0
        else { continue }
        return BuildID([UInt8](UnsafeRawBufferPointer(start: bytes + content, count: Int(note.n_descsz))))
      }
    }
    return BuildID([])
  }

  /// Which source lines its code comes from; nil where it was built or left without that.
  func lines() -> LineTable? {
    let debugging = [".debug_info", ".zdebug_info"].flatMap { sections(named: $0) }
    guard debugging.contains(where: { $0.1.sh_type != UInt32(SHT_NOBITS) }) else { return nil }
    return LineTable(file: self, descriptor: descriptor)
  }

  /// Name of the separate debug file, from `.gnu_debuglink`.
  func debugLink() -> String? {
    guard let (section, _) = sections(named: ".gnu_debuglink").first,
      let data = elf_getdata(section, nil), let bytes = data.pointee.d_buf
    else { return nil }
    let raw = UnsafeRawBufferPointer(start: bytes, count: data.pointee.d_size)
    let name = String(decoding: raw.prefix { $0 != 0 }, as: UTF8.self)
    return name.isEmpty || name.contains("/") ? nil : name
  }

  /// The full table where there is one, else what is exported.
  func symbols() -> SymbolTable {
    if let full = table(ofType: UInt32(SHT_SYMTAB)), !full.isEmpty { return full }
    return table(ofType: UInt32(SHT_DYNSYM)) ?? SymbolTable(entries: [], names: [], isComplete: false)
  }

  private func table(ofType type: UInt32) -> SymbolTable? {
    guard let (section, header) = sections().first(where: { $0.1.sh_type == type }), header.sh_entsize > 0,
      let data = elf_getdata(section, nil), let names = bytes(ofSection: Int(header.sh_link))
    else { return nil }
    let isComplete = type == UInt32(SHT_SYMTAB)
    var entries: [SymbolTable.Entry] = []
    var unsized: [(start: UInt64, section: UInt16, nameOffset: Int)] = []
    for index in 0..<Int32(clamping: header.sh_size / header.sh_entsize) {
      var symbol = GElf_Sym()
      guard gelf_getsym(data, index, &symbol) != nil, isFunction(symbol), Int(symbol.st_name) < names.count else {
        continue
      }
      if symbol.st_size > 0 {
        let (end, overflow) = symbol.st_value.addingReportingOverflow(symbol.st_size)
        if overflow { continue }
        entries.append(.init(start: symbol.st_value, end: end, nameOffset: Int(symbol.st_name)))
      } else if isComplete {
        unsized.append((symbol.st_value, symbol.st_shndx, Int(symbol.st_name)))
      }
    }
    entries += bounded(unsized, against: entries)
    return SymbolTable(entries: entries, names: names, isComplete: isComplete)
  }

  private func isFunction(_ symbol: GElf_Sym) -> Bool {
    let type = Int32(symbol.st_info & 0xf)
    return (type == STT_FUNC || type == STT_GNU_IFUNC) && symbol.st_shndx != UInt16(SHN_UNDEF)
  }

  /// Assembler functions carry no size. In a complete table they end where the next one begins, or with their section.
  private func bounded(
    _ unsized: [(start: UInt64, section: UInt16, nameOffset: Int)], against entries: [SymbolTable.Entry]
  ) -> [SymbolTable.Entry] {
    guard !unsized.isEmpty else { return [] }
    let starts = (entries.map(\.start) + unsized.map(\.start)).sorted()
    return unsized.compactMap { function in
      var low = 0
      var high = starts.count
      while low < high {
        let middle = (low + high) / 2
        if starts[middle] <= function.start { low = middle + 1 } else { high = middle }
      }
      var header = GElf_Shdr()
      guard let section = elf_getscn(handle, Int(function.section)), gelf_getshdr(section, &header) != nil else {
        return nil
      }
      let sectionEnd = header.sh_addr &+ header.sh_size
      let end = low < starts.count ? min(starts[low], sectionEnd) : sectionEnd
      return end > function.start ? .init(start: function.start, end: end, nameOffset: function.nameOffset) : nil
    }
  }

  private func bytes(ofSection index: Int) -> [UInt8]? {
    guard let section = elf_getscn(handle, index), let data = elf_getdata(section, nil),
      let bytes = data.pointee.d_buf
    else { return nil }
    return [UInt8](UnsafeRawBufferPointer(start: bytes, count: data.pointee.d_size))
  }

  private func sections(named name: String) -> [(OpaquePointer, GElf_Shdr)] {
    var index = 0
    guard elf_getshdrstrndx(handle, &index) == 0 else { return [] }
    return sections().filter { _, header in
      elf_strptr(handle, index, Int(header.sh_name)).map { String(cString: $0) == name } ?? false
    }
  }

  private func sections() -> [(OpaquePointer, GElf_Shdr)] {
    var found: [(OpaquePointer, GElf_Shdr)] = []
    var section = elf_nextscn(handle, nil)
    while let current = section {
      var header = GElf_Shdr()
      if gelf_getshdr(current, &header) != nil { found.append((current, header)) }
      section = elf_nextscn(handle, current)
    }
    return found
  }
}
