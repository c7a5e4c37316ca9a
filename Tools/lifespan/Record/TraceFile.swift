// The file of one trace. It is opened before the program starts, under a hidden name in its directory, and gets its own
// name when the recording begins and the pid is known. Used by RecordSession and Recording.

import CSession
import Glibc

/// An open trace file.
final class TraceFile {
  let descriptor: Int32
  /// Where it lies now.
  private(set) var path: String

  /// Makes the file in the directory of the traces. Throws a line that names the directory and the reason.
  init(in name: OutputName) throws {
    path = (name.directory == "." ? "" : name.directory + "/") + ".lifespan-XXXXXX"
    var template = Array(path.utf8CString)
    descriptor = mkstemp(&template)
    guard descriptor >= 0 else {
      let reason = SystemError.text(errno)
      throw CommandFailure(
        "cannot write a trace in \(name.directory): \(reason); name another place with -o FILE")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    // As any file that a program makes: mkstemp gives 0600 alone.
    let mask = umask(0)
    umask(mask)
    fchmod(descriptor, 0o666 & ~mask)
  }

  /// Gives it its name. A name that is taken is never overwritten: `-2`, `-3` …, unless `force`.
  func rename(to wanted: String, force: Bool) throws {
    if force, Self.otherKind(wanted) == nil {
      guard Glibc.rename(path, wanted) == 0 else { throw refusal(wanted, errno) }
      path = wanted
      return
    }
    for number in 1...9999 {
      let candidate = OutputName.numbered(wanted, number)
      let result = session_rename_new(path, candidate)
      if result == 0 {
        path = candidate
        return
      }
      if result != -EEXIST { throw refusal(candidate, -result) }
    }
    throw refusal(wanted, EEXIST)
  }

  /// Nothing was recorded: no file stays.
  func discard() {
    unlink(path)
    close(descriptor)
  }

  func closeFile() { close(descriptor) }

  /// False: somebody has removed or renamed it meanwhile.
  var isInItsPlace: Bool {
    var open = stat()
    var named = stat()
    guard fstat(descriptor, &open) == 0, stat(path, &named) == 0 else { return false }
    return open.st_dev == named.st_dev && open.st_ino == named.st_ino
  }

  /// Refuses what is no name of a file, before the program starts. A device or a pipe is neither replaced nor written.
  static func check(_ name: OutputName) throws {
    let path = name.path(program: "program", pid: 0)
    if let kind = path.hasSuffix("/") ? "a directory" : otherKind(path) ?? systemName(path) {
      throw CommandFailure("cannot write \(path): it is \(kind); give the name of a file with -o FILE")
    }
  }

  /// /dev/stdout and the like lead to what is open, and a new file beside them is no trace for anybody.
  private static func systemName(_ path: String) -> String? {
    let system = ["/dev/", "/proc/", "/sys/"].contains { path.hasPrefix($0) } && !path.hasPrefix("/dev/shm/")
    return system ? "no regular file" : nil
  }

  private static func otherKind(_ path: String) -> String? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return nil
    case S_IFDIR: return "a directory"
    default: return "no regular file"
    }
  }

  private func refusal(_ wanted: String, _ error: Int32) -> CommandFailure {
    CommandFailure("cannot name the trace \(wanted): \(SystemError.text(error)); it is kept as \(path)")
  }
}
