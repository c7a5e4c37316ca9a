// Objects whose deinit has run but whose memory an unowned reference still keeps: they count as destroyed, their bytes stay.

import Glibc

final class Parent {
  static let tally = Tally("Parent")
  let born = Parent.tally.made()
  deinit { Parent.tally.gone(born) }
}

final class Child {
  static let tally = Tally("Child")
  let born = Child.tally.made()
  unowned let parent: Parent
  init(_ parent: Parent) { self.parent = parent }
  deinit { Child.tally.gone(born) }
}

nonisolated(unsafe) var children: [Child] = []
nonisolated(unsafe) var weakly: [Weakly] = []
struct Weakly { weak var parent: Parent? }

@main
enum Program {
  static func main() {
    makeOrphans(100)
    children.removeFirst(40)  // frees the memory of 40 parents, long after their deinit
    say("orphans \(children.count), weak \(weakly.filter { $0.parent != nil }.count)")
    printTruth(Parent.tally, Child.tally)
    exit(0)
  }

  @inline(never) static func makeOrphans(_ count: Int) {
    for _ in 0..<count {
      let parent = Parent()
      weakly.append(Weakly(parent: parent))
      children.append(Child(parent))
    }
  }
}
