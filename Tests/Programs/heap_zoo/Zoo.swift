// Every kind of reference, 20 times held and 20 times leaked: an object of HeldKIND or Held<KIND> hangs at a global behind that kind of reference, one
// of LeakedKIND or Leaked<KIND> at something that refers to itself and at nothing else, or is referred to by nothing that keeps it. Prints what is
// leaked, by type; with `stay` it waits for a line on stdin before it ends.
import Glibc

class Animal {
  let mark = 7
}
protocol Pet: AnyObject {}
protocol Thing {}

/// What holds: at a global, or in a cycle with itself alone.
final class Anchor {
  var itself: Anchor?
  var kept: [AnyObject] = []
}
var anchors: [Anchor] = []
var expected: [(String, Int)] = []
let times = 20

/// `make` gives what refers to the object, twenty times for each.
func zoo<Held: AnyObject, Leaked: AnyObject>(
  _ held: Held.Type, _ leaked: Leaked.Type, _ make: (_ leaks: Bool) -> AnyObject
) {
  for _ in 0..<times {
    let anchor = Anchor()
    anchor.kept.append(make(false))
    anchors.append(anchor)
    let lost = Anchor()
    lost.kept.append(make(true))
    lost.itself = lost
  }
  expected.append((String(reflecting: held), 0))
  expected.append((String(reflecting: leaked), times))
}

/// What hangs behind a kind of reference that has no classes of its own.
final class Held<Kind>: Animal {}
final class Leaked<Kind>: Animal {
  var itself: Animal?
}

/// The same for a kind that takes any object.
func zoo<Kind>(_ kind: Kind.Type, _ make: (Animal) -> AnyObject) {
  zoo(Held<Kind>.self, Leaked<Kind>.self) { make($0 ? Leaked<Kind>() : Held<Kind>()) }
}

@main struct Zoo {
  @MainActor static func main() async {
    references()
    values()
    memory()
    collections()
    storage()
    closures()
    functions()
    backwards()
    backwardsInValues()
    leftBehind()
    await tasks()
    await waiting()
    let rows = expected.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")
    print("TRUTH {\"leaked\":{\(rows)}}")
    fflush(stdout)
    if CommandLine.arguments.contains("stay") { _ = readLine() }
    exit(0)
  }
}
