// Forks while threads make and free objects. Each child says how many lived in its memory at the fork, as the threads had
// counted them, makes ten objects of its own and ends; so do the children of the second argument's forks in it.
//
//   forks WAY THREADS FORKS [NESTED]     WAY: fork, _Fork or clone
//
// "child PID N" for each child. The truth of the parent at its end.

import Glibc

final class Node {
  static let tally = Tally("Node")
  let born = Node.tally.made()
  deinit { Node.tally.gone(born) }
}
final class Own {}

/// What one thread has made and freed so far, each counted when it is done.
nonisolated(unsafe) let made = UnsafeMutablePointer<Int>.allocate(capacity: 16)
nonisolated(unsafe) let gone = UnsafeMutablePointer<Int>.allocate(capacity: 16)
nonisolated(unsafe) let stop = UnsafeMutablePointer<Bool>.allocate(capacity: 1)
nonisolated(unsafe) var kept: [Own] = []

func churn(_ number: Int) {
  var nodes: [Node?] = Array(repeating: nil, count: 200)
  var next = number
  while !stop.pointee || nodes.contains(where: { $0 != nil }) {
    next = (next &* 31 &+ 7) % nodes.count
    if stop.pointee { next = nodes.firstIndex { $0 != nil } ?? 0 }
    if nodes[next] != nil {
      nodes[next] = nil
      gone[number] += 1
    } else if !stop.pointee {
      nodes[next] = Node()
      made[number] += 1
    }
  }
}

func run(_ number: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  churn(Int(bitPattern: number))
  return nil
}

func living() -> Int { (0..<16).reduce(0) { $0 + made[$1] - gone[$1] } }

func report(_ word: String, _ count: Int) {
  let line = "\(word) \(getpid()) \(count)\n"
  _ = line.withCString { write(1, $0, strlen($0)) }
}

func child(_ way: String, _ nested: Int) -> Never {
  report("child", living())
  for _ in 0..<10 { kept.append(Own()) }
  if nested > 0 { forkOne(way, nested - 1) }
  _exit(0)
}

func forkOne(_ way: String, _ nested: Int) {
  let pid = fork_by(way)
  if pid == 0 { child(way, nested) }
  var status: Int32 = 0
  waitpid(pid, &status, 0)
  if status != 0 { report("status", Int(status)) }
}

@main
enum Program {
  static func main() {
    let way = CommandLine.arguments[1]
    let count = argument(2, default: 3), forks = argument(3, default: 5), nested = argument(4, default: 0)
    made.initialize(repeating: 0, count: 16)
    gone.initialize(repeating: 0, count: 16)
    stop.initialize(to: false)
    report("parent", 0)
    var threads: [pthread_t] = []
    for number in 0..<count {
      var thread = pthread_t()
      pthread_create(&thread, nil, { run($0) }, UnsafeMutableRawPointer(bitPattern: number))
      threads.append(thread)
    }
    for _ in 0..<forks {
      let before = made[0]
      wait { count == 0 || made[0] > before + 500 }
      forkOne(way, nested)
    }
    stop.pointee = true
    for thread in threads { pthread_join(thread, nil) }
    printTruth(Node.tally)
    exit(0)
  }
}
