// What a program may do where there is little room. Arguments: KIND …
//   stack BYTES      makes the first object of a type with a long name on a thread with a stack of that size
//   exec BYTES PATH  executes PATH on such a thread
//   unreadable       frees a block whose first page it has forbidden to read
//   number           makes an object below a function that keeps a number in rbp
//   waves N COUNT    COUNT times N threads that live at once, each with 20 objects

import Glibc

struct Pair<First, Second> {}
typealias Once = Pair<[String: Note?], (Int) -> Pair<Note, [Double]>>
typealias Twice = Pair<Once, Pair<Once, (Once, Once)>>
typealias Often = Pair<Twice, Pair<Twice, (Twice) -> Twice>>

final class Holder<Content> {
  let number = 1
}

final class Note {
  static let tally = Tally("Note")
  let born = Note.tally.made()
  deinit { Note.tally.gone(born) }
}

protocol Maker {
  static func make() -> AnyObject
}
extension Holder: Maker {
  @inline(never) static func make() -> AnyObject { Holder() }
}
nonisolated(unsafe) var maker: Maker.Type = Holder<Int>.self
nonisolated(unsafe) var kept: [AnyObject] = []

@inline(never) func make() -> Note { Note() }

func makeSome(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  for _ in 0..<20 { _ = make() }
  return nil
}

func waves(_ threads: Int, _ count: Int) {
  for _ in 0..<count {
    var running: [pthread_t] = []
    for _ in 0..<threads {
      var thread = pthread_t()
      let error = pthread_create(&thread, nil, makeSome, nil)
      if error == 0 { running.append(thread) }
    }
    for thread in running { pthread_join(thread, nil) }
  }
}

@main
enum Program {
  static func main() {
    let kind = CommandLine.arguments[1]
    switch kind {
    case "stack":
      kept.reserveCapacity(8)
      // The runtime makes the type here, where there is room; making an object of it needs little.
      maker = Holder<Often>.self
      on_small_stack(argument(2, default: 0)) { kept.append(maker.make()) }
      say("\(kept.count) kept")
    case "exec":
      execute_on_small_stack(argument(2, default: 0), CommandLine.arguments[3])
      say("not executed")
    case "unreadable":
      kept.append(make())
      free_without_access()
      kept.append(make())
    case "number": with_number_in_rbp { kept.append(make()) }
    default: waves(argument(2, default: 1), argument(3, default: 1))
    }
    printTruth(Note.tally)
    exit(0)
  }
}
