// What the library says where the recording command can't be used: below fake_door.c, which plays such a command.
import Lifespan

func checkRefused(_ door: String, abi: UInt32) {
  let expected: Allocations.NotRecording.Reason
  switch door {
  case "abi": expected = .otherVersion(recorder: 999, library: abi)
  case "inactive": expected = .recordsAnotherProcess
  default: expected = .recorderGone
  }
  do {
    try Allocations.start(recording: .tracked)
    // It records, as far as the program can see, until the first question.
    equal(door == "gone" || door == "silent", true, "start below \(door)")
  } catch {
    equal(error, .notRecording(Allocations.NotRecording(expected)), "start below \(door)")
  }
  let clock = ContinuousClock()
  var answer: Allocations.NotRecording.Reason?
  let time = clock.measure {
    answer = reason { () throws(Allocations.NotRecording) in try Allocations.liveCount(of: Session.self) }
  }
  equal(answer, expected, "a question below \(door)")
  equal(time < .seconds(3), true, "a question below \(door) took \(time)")
  equal(Allocations.markGeneration("nowhere").isRecorded, false, "a mark below \(door)")
  let token = Allocations.Token("nowhere")
  equal(token.name, "nowhere", "a token below \(door)")
  finish()
}
