// A program whose threads make and end objects as fast as they can, and count in shared memory what they have done.
// Recorded and killed by soak.py.
//
//   busy FILE THREADS ROUNDS [malloc] [pause MICROSECONDS]   ROUNDS 0: for ever; ends with status 7 and one line on stdout
import Glibc

class Busy { var value = 0 }
final class Busy0: Busy {}
final class Busy1: Busy {}
final class Busy2: Busy {}
final class Busy3: Busy {}

struct Order: @unchecked Sendable {
  var counters: UnsafeMutablePointer<busy_thread>
  var thread: Int
  var rounds: Int
  var mallocs: Bool
  var pause: UInt32
}

@inline(never) func make(_ thread: Int) -> Busy {
  switch thread % 4 {
  case 0: return Busy0()
  case 1: return Busy1()
  case 2: return Busy2()
  default: return Busy3()
  }
}

func work(_ order: Order) {
  let counters = order.counters
  var kept = [Busy?](repeating: nil, count: 32)
  var blocks = [UnsafeMutableRawPointer?](repeating: nil, count: 16)
  var round = 0
  while order.rounds == 0 || round < order.rounds {
    let place = round % kept.count
    if kept[place] != nil {
      kept[place] = nil
      busy_death(counters)
    }
    kept[place] = make(order.thread)
    busy_birth(counters)
    if order.mallocs { blocks.withUnsafeMutableBufferPointer { busy_block(counters, &$0[round % 16]) } }
    if round % 16 == 0 {
      busy_log(counters)
      if order.pause > 0 { usleep(order.pause) }
    }
    round += 1
  }
  for place in kept.indices where kept[place] != nil {
    kept[place] = nil
    busy_death(counters)
  }
}

@main
enum Program {
  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    let count = Int(words[1]) ?? 4
    let pause = words.firstIndex(of: "pause").map { UInt32(words[$0 + 1]) ?? 0 } ?? 0
    let all = busy_map(words[0], Int32(count))
    var threads: [pthread_t] = []
    for number in 0..<count {
      guard let counters = busy_thread(all, Int32(number)) else { abort() }
      let order = Order(
        counters: counters, thread: number, rounds: Int(words[2]) ?? 0, mallocs: words.contains("malloc"), pause: pause)
      let box = UnsafeMutablePointer<Order>.allocate(capacity: 1)
      box.initialize(to: order)
      var thread = pthread_t()
      pthread_create(
        &thread, nil,
        { context in
          if let context { work(context.assumingMemoryBound(to: Order.self).pointee) }
          return nil
        }, box)
      threads.append(thread)
    }
    for thread in threads { pthread_join(thread, nil) }
    print("done")
    exit(7)
  }
}
