// What `lifespan doctor` looks at on this machine. Called by DoctorCommand.

import CSession
import Glibc

enum MachineChecks {
  static func all() -> [Check] {
    [system(), preload(), sharedMemory(), sessionFolder(), clock(), libunwind(), processFiles(), ptrace()]
  }

  private static func system() -> Check {
    var names = utsname()
    uname(&names)
    let machine = withUnsafeBytes(of: names.machine) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let release = withUnsafeBytes(of: names.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    let glibc = String(cString: session_glibc_version())
    let detail = "Linux \(release), \(machine), glibc \(glibc)"
    if machine != "x86_64" { return Check("system", .no, detail, cure: "x86-64 is what can be recorded so far") }
    let parts = glibc.split(separator: ".").compactMap { Int($0) }
    let old = parts.count < 2 || (parts[0], parts[1]) < (2, 34)
    return Check("system", old ? .limited : .ok, detail, cure: old ? "glibc 2.34 or newer is what is tested" : nil)
  }

  private static func preload() -> Check {
    do {
      let library = try PreloadLibrary()
      var reason: UnsafePointer<CChar>?
      let abi = session_preload_abi(library.path, &reason)
      if abi == Int64(LIFESPAN_ABI) { return Check("preload library", .ok, "\(library.path), ABI \(abi)") }
      let why =
        reason.map { String(cString: $0) }
        ?? (abi < 0 ? "\(library.path) is no preload library" : "\(library.path) has ABI \(abi), not \(LIFESPAN_ABI)")
      return Check("preload library", .no, why, cure: "build both together: Tools/build")
    } catch {
      return Check("preload library", .no, ExitStatus.describe(error).line)
    }
  }

  private static func sharedMemory() -> Check {
    var options = lifespan_options()
    var map: OpaquePointer?
    let file = session_map_create(&options, RecordOptions.defaultBuffer, &map)
    guard file >= 0 else {
      return Check(
        "shared memory", .no, "memfd: \(SystemError.text(-file))", cure: "allow memfd_create, raise the memory limit")
    }
    session_map_close(map, file)
    return Check("shared memory", .ok, "memfd, sealed")
  }

  private static func sessionFolder() -> Check {
    var problems: [String] = []
    for directory in SessionDirectory.candidates {
      guard let problem = directory.prepare() else { return Check("session folder", .ok, directory.path) }
      problems.append(problem)
    }
    return Check("session folder", .no, problems.joined(separator: "; "), cure: "set XDG_RUNTIME_DIR or TMPDIR")
  }

  private static func clock() -> Check {
    let source = firstLine("/sys/devices/system/clocksource/clocksource0/current_clocksource") ?? "unknown"
    let flags = cpuFlags()
    let steady = flags.contains("constant_tsc") && flags.contains("nonstop_tsc")
    if source == "tsc", steady { return Check("clock", .ok, "time stamp counter (constant, nonstop, clocksource tsc)") }
    let why = steady ? "clocksource is \(source)" : "the processor's counter is not constant and nonstop"
    return Check("clock", .limited, "CLOCK_MONOTONIC: \(why); each event costs a little more")
  }

  private static func libunwind() -> Check {
    if session_can_load("libunwind.so.8") { return Check("libunwind", .ok, "libunwind.so.8") }
    return Check(
      "libunwind", .limited, "not there: --unwind libunwind and --check-unwind do not work",
      cure: "apt install libunwind8")
  }

  private static func processFiles() -> Check {
    access("/proc/self/maps", R_OK) == 0
      ? Check("/proc", .ok, "readable")
      : Check("/proc", .limited, "not mounted: programs and threads are known by less")
  }

  private static func ptrace() -> Check {
    let scope = firstLine("/proc/sys/kernel/yama/ptrace_scope")
    switch scope {
    case nil: return Check("ptrace", .ok, "no restriction by Yama")
    case "0", "1": return Check("ptrace", .ok, "Yama scope \(scope ?? ""): children can be looked at")
    default:
      return Check("ptrace", .limited, "Yama scope \(scope ?? ""): no picture of the heap; recording needs none")
    }
  }

  private static func firstLine(_ path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, Int32(line.count), file) != nil else { return nil }
    return String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  private static func cpuFlags() -> Set<Substring> {
    guard let file = fopen("/proc/cpuinfo", "re") else { return [] }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 16384)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if text.hasPrefix("flags") { return Set(text.split(whereSeparator: { $0 == " " || $0 == ":" || $0 == "\t" })) }
    }
    return []
  }
}
