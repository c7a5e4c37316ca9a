// Finds the preload library that `record` puts into the program: beside the command in a checkout, under PREFIX/lib in an
// installation, or where LIFESPAN_PRELOAD says. Used by `record` and `doctor`.

import Glibc

/// The preload library's place.
struct PreloadLibrary: Sendable {
  static let fileName = "liblifespan_preload.so"
  let path: String

  /// Throws where it was looked for.
  init() throws {
    if let given = getenv(EnvironmentVariable.preload.name).map({ String(cString: $0) }), !given.isEmpty {
      guard let real = Self.absolute(given) else {
        throw CommandFailure("LIFESPAN_PRELOAD=\(given): \(SystemError.text(errno))")
      }
      path = try Self.usable(real)
      return
    }
    let places = Self.places
    guard let found = places.lazy.compactMap(Self.absolute).first else {
      throw CommandFailure(
        "\(Self.fileName) is not there (\(places.joined(separator: ", "))); build it with Tools/build")
    }
    path = try Self.usable(found)
  }

  /// Where it may lie, from this executable's own place.
  static var places: [String] {
    guard let executable = absolute("/proc/self/exe"), let slash = executable.lastIndex(of: "/") else { return [] }
    let directory = String(executable[..<slash])
    return ["\(directory)/\(fileName)", "\(directory)/../lib/lifespan/\(fileName)"]
  }

  /// LD_PRELOAD splits at colons and spaces and knows no quoting.
  private static func usable(_ path: String) throws -> String {
    if path.contains(":") || path.contains(" ") {
      throw CommandFailure("\(path): the dynamic linker takes no preload path with a colon or a space; move it")
    }
    return path
  }

  private static func absolute(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }
}
