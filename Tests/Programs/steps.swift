// A program that does what its arguments say, one after the other, so that one binary serves the tests of marks, signals, exit
// codes, fork, exec and terminals. It prints its truth before everything that may end it. Without arguments it does what STEPS says:
// the runtime reads them from /proc, which may not be there.
//
//   make TYPE N   makes N objects of First, Second or Third and keeps them     drop N     drops the oldest N
//   mark NAME     marks a generation from inside                              marked NAME  somebody outside has marked
//   pid           prints "pid N"            wait       waits for a line on stdin     say TEXT   note TEXT (to stderr)
//   copy          stdin to stdout until its end                              environment   what a recorder left in ours
//   catch N       counts signal N from now on; caught: waits for one, reads a line, prints the count
//   exit N · trap · segv · abort · kill N (itself) · fork N (the child makes N and ends) · exec WORDS…

import Glibc

class Counted {}
final class First: Counted {
  static let tally = Tally("First")
  let born = First.tally.made()
  deinit { First.tally.gone(born) }
}
final class Second: Counted {
  static let tally = Tally("Second")
  let born = Second.tally.made()
  deinit { Second.tally.gone(born) }
}
final class Third: Counted {
  static let tally = Tally("Third")
  let born = Third.tally.made()
  deinit { Third.tally.gone(born) }
}

nonisolated(unsafe) var kept: [Counted] = []

func truth() { printTruth(First.tally, Second.tally, Third.tally) }

@inline(never) func make(_ type: String) -> Counted {
  switch type {
  case "First": return First()
  case "Second": return Second()
  default: return Third()
  }
}

@main
enum Program {
  static func main() {
    var words = CommandLine.arguments.dropFirst()
    if words.isEmpty, let steps = getenv("STEPS") {
      words = String(cString: steps).split(separator: " ").map(String.init)[...]
    }
    while let word = words.popFirst() { step(word, &words) }
    truth()
    exit(0)
  }

  static func step(_ word: String, _ words: inout ArraySlice<String>) {
    func next() -> String { words.popFirst() ?? "" }
    func number() -> Int { Int(next()) ?? 0 }
    switch word {
    case "make":
      let type = next()
      for _ in 0..<number() { kept.append(make(type)) }
    case "drop": kept.removeFirst(number())
    case "mark": mark(next())
    case "marked": noteMark(next())
    case "pid": say("pid \(getpid())")
    case "wait": if readLine() == nil { say("stdin has ended") }
    case "say": say(next())
    case "note": fputs(next() + "\n", stderr)
    case "copy": copy()
    case "environment": environment()
    case "catch": count_signal(Int32(number()))
    case "caught": caught()
    case "fork": child(makes: number())
    case "exec": replace(by: Array(words))
    default: end(word, number)
    }
  }

  static func copy() {
    var lines = 0
    while let line = readLine() {
      lines += 1
      if lines <= 3 { say(line) }
    }
    say("\(lines) lines")
  }

  static func environment() {
    let ours: [String] = ["LD_PRELOAD", "LIFESPAN_SESSION"]
    let left = ours.filter { getenv($0) != nil }
    say("left in the environment: \(left)")
  }

  static func caught() {
    say("ready")
    wait { counted_signals() > 0 }
    say("first")
    while readLine() == nil, errno == EINTR { clearerr(stdin) }
    say("caught \(counted_signals())")
  }

  static func child(makes count: Int) {
    let child = plain_fork()
    if child == 0 {
      for _ in 0..<count { kept.append(make("First")) }
      _exit(kept.count >= count ? 9 : 1)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    say("child \((status >> 8) & 0xff)")
  }

  static func replace(by words: [String]) {
    truth()
    if let path = words.first { execvp(path, words.map { strdup($0) } + [nil]) }
    say("exec: \(errno)")
  }

  static func end(_ word: String, _ number: () -> Int) {
    truth()
    switch word {
    case "exit": exit(Int32(number()))
    case "trap":
      let nothing: [Int] = []
      say("\(nothing[kept.count])")
    case "segv": UnsafeMutablePointer<Int>(bitPattern: 8)?.pointee = 1
    case "abort": abort()
    case "kill": kill(getpid(), Int32(number()))
    default: exit(64)
    }
  }
}
