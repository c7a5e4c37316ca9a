// References that only whoever knows Swift can read: an object's count word that leads to its side table, references with a case in their spare bits,
// weak ones to objects that are gone. Nothing is leaked. LeakSanitizer calls some of it leaked (Tests/Behaviour/leaks.py).

final class Watched {
  let number = 1
}
final class First { let number = 1 }
final class Second { let number = 2 }
enum Either {
  case first(First)
  case second(Second)
  case third(Watched)
}

final class Watcher {
  weak var object: Watched?
}

nonisolated(unsafe) var watchers: [Watcher] = []
nonisolated(unsafe) var watched: [Watched] = []
nonisolated(unsafe) var eithers: [Either] = []

@inline(never) func watch(_ object: Watched) -> Int {
  weak let watching = object
  return watching?.number ?? 0
}

@inline(never) func watchWhatGoes() {
  let watcher = Watcher(), object = Watched()
  watcher.object = object
  watchers.append(watcher)
}

@main struct SpareBits {
  static func main() {
    var sum = 0
    for index in 0..<100 {
      let object = Watched()
      sum += watch(object)
      watchWhatGoes()
      watched.append(object)
      eithers.append([.first(First()), .second(Second()), .third(Watched())][index % 3])
    }
    print("TRUTH {\"leaked\":\(sum == 100 ? 0 : 1)}")
  }
}
