// Source lines and inlined functions of one ELF file, by libdw. Made by ElfFile, asked by Symbolizer.
import CLineTables

/// The debugging information of one file. Not for several threads at once.
final class LineTable {
  /// A function at an address, from the innermost outwards.
  struct Place {
    /// Mangled where it is; nil where it is not known.
    let function: String?
    let file: String?
    /// From 1; nil where the code is of no line.
    let line: Int?
  }

  private static let inlinedMost = 257
  // Its descriptor is read from.
  private let file: ElfFile
  private let handle: OpaquePointer

  /// Nil where it holds nothing of use.
  init?(file: ElfFile, descriptor: Int32) {
    guard let handle = lifespan_lines_open(descriptor) else { return nil }
    self.file = file
    self.handle = handle
  }

  deinit { lifespan_lines_close(handle) }

  /// What the instruction there belongs to: functions that were inlined, then the one that they are in. Empty where nothing
  /// is known.
  func places(at address: UInt64) -> [Place] {
    withUnsafeTemporaryAllocation(of: lifespan_lines_frame.self, capacity: Self.inlinedMost) { room in
      let count = lifespan_lines_at(handle, address, room.baseAddress, room.count)
      return room.prefix(count).map { frame in
        Place(
          function: frame.function.map { String(cString: $0) }, file: frame.file.map { String(cString: $0) },
          line: frame.line == 0 ? nil : Int(frame.line))
      }
    }
  }
}
