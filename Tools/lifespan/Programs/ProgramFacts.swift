// What kind of program a file is, as far as that decides whether and how it can be recorded.
// Used by `record` (the line before the program starts, the line when nothing was recorded) and by `doctor`.

import CSession
import Glibc

/// Where a program's Swift runtime is.
enum SwiftRuntime: String, Sendable {
  /// In libswiftCore.so.
  case dynamic
  /// In the executable, with its symbol table.
  case linkedStatically = "static"
  /// In the executable without a symbol table: its functions cannot be found.
  case strippedStatic = "static-stripped"
  case none
}

/// Facts of one executable file.
struct ProgramFacts: Sendable {
  enum Kind: Equatable, Sendable {
    case elf
    case script(interpreter: String)
    case other
  }

  let path: String
  let kind: Kind
  let isDynamic: Bool
  let isOurMachine: Bool
  let isPrivileged: Bool
  let runtime: SwiftRuntime
  let hasSymbols: Bool
  let hasLineTables: Bool
  let hasUnwindTable: Bool
  let linksAddressSanitizer: Bool
  /// True when most functions seem to begin with the frame pointer's set-up; nil: not looked at.
  let keepsFramePointers: Bool?

  /// `readCode`: also look at its code, all of which is read then.
  init(path: String, readCode: Bool = false) {
    self.path = path
    let elf = ElfFile(path: path)
    if elf != nil {
      kind = .elf
    } else if let interpreter = Self.shebang(path) {
      kind = .script(interpreter: interpreter)
    } else {
      kind = .other
    }
    isDynamic = elf?.interpreter != nil
    isOurMachine = elf.map { $0.machine == ElfFile.x86_64 } ?? true
    isPrivileged = Self.privileged(path)
    runtime = elf.map(Self.runtime) ?? .none
    hasSymbols = elf?.hasSection(".symtab") ?? false
    hasLineTables = elf?.hasSection(".debug_line") ?? false
    hasUnwindTable = elf?.hasSection(".eh_frame") ?? false
    linksAddressSanitizer = elf?.needed.contains { $0.contains("asan") } ?? false
    keepsFramePointers =
      readCode ? elf.flatMap { FramePointerScan.keepsFramePointers(text: $0.contents(".text")) } : nil
  }

  private static func runtime(_ elf: ElfFile) -> SwiftRuntime {
    if elf.needed.contains(where: { $0.hasPrefix("libswiftCore.so") }) { return .dynamic }
    let entries: Set = ["swift_retain", "swift_allocObject"]
    if elf.defines(entries, in: ElfFile.symbolTable) { return .linkedStatically }
    // Metadata sections stay in a stripped executable that holds Swift code.
    if elf.hasSection("swift5_type_metadata") || elf.hasSection("swift5_protocols") { return .strippedStatic }
    return .none
  }

  private static func privileged(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    // The dynamic linker drops LD_PRELOAD only where the ids really change.
    if status.st_mode & S_ISUID != 0, status.st_uid != geteuid() || getuid() != geteuid() { return true }
    if status.st_mode & S_ISGID != 0, status.st_mode & S_IXGRP != 0, status.st_gid != getegid() { return true }
    return session_has_capabilities(path)
  }

  private static func shebang(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = read(file, &bytes, bytes.count)
    guard count > 2, bytes[0] == 0x23, bytes[1] == 0x21 else { return nil }
    let line = String(decoding: bytes[2..<count].prefix { $0 != 10 }, as: UTF8.self)
    return line.split(separator: " ").first.map(String.init)
  }
}

extension ProgramFacts {
  /// Why the preload library cannot come into this program, and what to do; nil when it can.
  var obstacle: (reason: String, cure: String)? {
    guard kind == .elf else { return nil }
    if !isOurMachine {
      return ("it is built for another processor", "build it for x86-64")
    }
    if isPrivileged {
      return (
        "it changes its user, group or capabilities, so the system loads nothing into it",
        "run a copy without them"
      )
    }
    if !isDynamic {
      return (
        "it is a static executable, nothing can be loaded into it",
        "build it without -static-executable, or link Lifespan into it"
      )
    }
    if runtime == .strippedStatic {
      return (
        "its Swift runtime is linked statically and stripped, so its functions cannot be found",
        "build it without -Xlinker -s (strip a copy for shipping), without -static-stdlib, or link Lifespan into it"
      )
    }
    return nil
  }
}
