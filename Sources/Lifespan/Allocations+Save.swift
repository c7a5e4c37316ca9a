// Save: the recording as a trace file.
#if Recording
internal import CLinkedDoor

extension Allocations {
  /// Writes what is known now as a trace that `lifespan stats`, `generations` and the others read: living objects,
  /// totals of the dead, marks, and the newest events. How many older events of the living objects are missing stands in
  /// the file, and reports say so. A file of that name is replaced when the new one is whole.
  ///
  /// - Parameter path: where; relative to the current folder.
  /// - Throws: ``SaveError``.
  ///
  /// Under `lifespan record`, which writes a whole trace of its own besides, the file holds what the command knows by
  /// now: all that the command records.
  ///
  /// Cost: proportional to the living objects and the kept events. Threads that record go on; one whose buffer runs
  /// full waits.
  public static func save(to path: String) throws(SaveError) {
    var error: Int32 = 0
    let status = lifespan_linked_save(path, &error)
    switch status {
    case LIFESPAN_LINKED_OK: return
    case LIFESPAN_LINKED_FAILED:
      var text = [CChar](repeating: 0, count: 256)
      lifespan_linked_error_text(error, &text, text.count)
      throw .file(path: path, errno: error, message: String(fromC: text))
    default: throw .notRecording(NotRecording(status))
    }
  }
}
#endif
