// A server reads large messages and keeps a few bytes of each, the sender's name.
//
// Variants:
//   slice  it keeps the part as a slice, which keeps the whole buffer
//   copy   it makes an array of the part
import Glibc

/// Who has written.
final class Sender {
  let name: ArraySlice<UInt8>
  init(name: ArraySlice<UInt8>) { self.name = name }
}

nonisolated(unsafe) var senders: [Sender] = []

@inline(never) func receive(_ number: Int) -> [UInt8] {
  var message = [UInt8](repeating: 0x20, count: 100_000)
  for place in 0..<16 { message[place] = UInt8(truncatingIfNeeded: 0x61 + (number + place) % 26) }
  return message
}

@inline(never) func note(_ number: Int) -> Int {
  let message = receive(number)
  let name = message[0..<16]
  senders.append(Sender(name: variant == "copy" ? Array(name)[...] : name))
  return message.count
}

@main struct Main {
  static func main() {
    guard ["slice", "copy"].contains(variant) else { unknownVariant("slice", "copy") }
    senders.reserveCapacity(1_000)
    var bytes = 0
    rounds { round in for number in 0..<5 { bytes += note(5 * round + number) } }
    print("\(bytes) bytes, \(senders.count) senders")
    fflush(stdout)
    exit(0)
  }
}
