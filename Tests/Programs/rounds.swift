// Rounds of work that leave something behind in every way that growth tells apart: what grows, what is replaced, filled once, flushed,
// lost, late. After each round it marks, and notes how much of each type lives: what `growth` must say exactly. With a number of rounds.
import Glibc

/// Counted, so that the optimizer can't leave one out. Its deinit says how many live.
class Counted {
  static func living(_ type: AnyObject.Type) -> Int { counts[ObjectIdentifier(type), default: 0] }
  @inline(never) init() { counts[ObjectIdentifier(Swift.type(of: self)), default: 0] += 1 }
  deinit { counts[ObjectIdentifier(Swift.type(of: self)), default: 0] -= 1 }
}
nonisolated(unsafe) var counts: [ObjectIdentifier: Int] = [:]

/// A cache whose key never repeats.
final class Page: Counted {}
/// One object every round, uneven others.
final class Slow: Counted {}
/// A cache with a limit: all of it is replaced in every round.
final class Thumb: Counted {}
/// Made once, in the first round.
final class Template: Counted {}
/// Made once, in the third round.
final class Singleton: Counted {}
/// A cache that is flushed every third round.
final class Entry: Counted {}
/// What lives at the end of a round differs.
final class Job: Counted {}
/// There from the start, and ends bit by bit.
final class Backlog: Counted {}
/// Ends in the round after its own.
final class Connection: Counted {}
/// Two that hold each other and are held by nobody.
final class Left: Counted { var right: Right? }
final class Right: Counted { var left: Left? }

nonisolated(unsafe) var pages: [Int: Page] = [:]
nonisolated(unsafe) var slow: [Slow] = []
nonisolated(unsafe) var thumbs: [Thumb] = []
nonisolated(unsafe) var templates: [Template] = []
nonisolated(unsafe) var singleton: Singleton?
nonisolated(unsafe) var entries: [Entry] = []
nonisolated(unsafe) var jobs: [Job] = []
nonisolated(unsafe) var backlog: [Backlog] = []
nonisolated(unsafe) var connections: [Connection] = []

@inline(never) func fill(_ round: Int) {
  for number in 0..<10 { pages[10 * round + number] = Page() }
  for _ in 0...(round % 3) { slow.append(Slow()) }
  thumbs = (0..<32).map { _ in Thumb() }
  if templates.isEmpty { templates = (0..<4).map { _ in Template() } }
  if round == 2 { singleton = Singleton() }
  if round % 3 == 0 { entries = [] }
  for _ in 0..<5 { entries.append(Entry()) }
  jobs = (0..<[4, 7, 2, 6, 3, 8, 1, 5][round % 8]).map { _ in Job() }
  if !backlog.isEmpty { backlog.removeLast(2) }
  connections = (0..<3).map { _ in Connection() }
}

@inline(never) func lose() {
  let (left, right) = (Left(), Right())
  (left.right, right.left) = (right, left)
}

@main struct Rounds {
  static func main() {
    let types: [(String, AnyObject.Type)] = [
      ("Page", Page.self), ("Slow", Slow.self), ("Thumb", Thumb.self), ("Template", Template.self),
      ("Singleton", Singleton.self), ("Entry", Entry.self), ("Job", Job.self), ("Backlog", Backlog.self),
      ("Connection", Connection.self), ("Left", Left.self), ("Right", Right.self),
    ]
    var levels: [String: [Int]] = [:]
    backlog = (0..<40).map { _ in Backlog() }
    for round in 0..<argument(1, default: 9) {
      fill(round)
      lose()
      mark(round == 0 ? "warm-up" : "round \(round)")
      for (name, type) in types { levels[name, default: []].append(Counted.living(type)) }
    }
    let rows = levels.sorted { $0.key < $1.key }.map { "\"Program.\($0.key)\":\($0.value)" }.joined(separator: ",")
    print("TRUTH {\"levels\":{\(rows)}}")
    fflush(stdout)
    exit(0)
  }
}
