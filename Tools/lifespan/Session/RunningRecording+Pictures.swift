// Pictures of the heap of a recording that runs, asked for from another process. Used by mark --leaks, and by the subcommands that look at the heap of a PID.

import CSession
import Glibc
import LifespanReport

extension RunningRecording {
  private static let pause: UInt32 = 20_000

  /// Takes a picture of the program's heap into its trace, and returns when it stands there: then `resolve` gives a trace that
  /// holds it. `ofMark`: it belongs to the mark that was set last. Throws a line that says why there is none.
  func takePicture(ofMark: Bool = false) throws {
    let number = try ask(LIFESPAN_OP_PICTURE, text: ofMark ? "mark" : "").number
    while true {
      let answer = try ask(LIFESPAN_OP_PICTURE_DONE, status: UInt32(clamping: number), accepting: UInt32(EAGAIN))
      guard answer.raw.status == 0 else {
        usleep(Self.pause)
        continue
      }
      guard answer.text.isEmpty else {
        throw CommandFailure("process \(status.pid): no picture of its heap: \(answer.text)")
      }
      return
    }
  }
}
