// The second danger: a daemon closes every descriptor after its first objects, opens two files and writes to them. Whatever a
// recorder keeps open inside the program is closed then, and must not turn up as, or write into, the program's own files.
// Argument: folder for the two files.

import Glibc

final class Node {
  static let tally = Tally("Node")
  let born = Node.tally.made()
  deinit { Node.tally.gone(born) }
}

nonisolated(unsafe) var kept: [Node] = []

@main
enum Program {
  static func main() {
    let folder = CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : "."
    let before = open("/dev/null", O_RDONLY)
    say("before: \(before)")
    for _ in 0..<10 { kept.append(make()) }

    // No allocation from here until both are open: what a recorder had open must not come back in between.
    let names = ["left", "right"].map { strdup("\(folder)/\($0).\(getpid())") }
    var files: [Int32] = [-1, -1]
    for descriptor in Int32(3)..<1024 { close(descriptor) }
    for side in 0...1 { if let name = names[side] { files[side] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0o600) } }
    say("opened: \(files)")
    var written = [[UInt8]](repeating: [], count: 2)
    for number in 0..<200 {
      let side = number % 2
      kept.append(number % 3 == 0 ? make() : deeper(number % 7))
      let line = Array("\(side == 0 ? "left" : "right") line \(number)\n".utf8)
      written[side] += line
      if write(files[side], line, line.count) != line.count { say("short write \(errno)") }
    }
    for side in 0...1 { say("\(read(back: files[side], written[side].count + 64) == written[side])") }
    for number in 0..<100 { kept.append(deeper(number % 5)) }
    say("open at the end: \((Int32(3)..<1024).filter { fcntl($0, F_GETFD) >= 0 })")
    for case let name? in names { unlink(name) }
    printTruth(Node.tally)
    exit(0)
  }

  static func read(back file: Int32, _ room: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: room)
    let count = pread(file, &bytes, room, 0)
    return Array(bytes.prefix(max(0, count)))
  }

  @inline(never) static func make() -> Node { Node() }
  @inline(never) static func deeper(_ depth: Int) -> Node {
    if depth == 0 { return make() }
    let node = deeper(depth - 1)
    if depth % 2 == 0 { kept.append(make()) }
    return node
  }
}
