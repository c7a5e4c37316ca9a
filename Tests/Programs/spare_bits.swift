// References that only whoever knows Swift can read: an object's count word that leads to its side table, and references with a case in their
// spare bits. Nothing is leaked. LeakSanitizer calls some of it leaked (Tests/Behaviour/leaks.py).

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

nonisolated(unsafe) var watched: [Watched] = []
nonisolated(unsafe) var eithers: [Either] = []

@inline(never) func watch(_ object: Watched) -> Int {
  weak let watching = object
  return watching?.number ?? 0
}

@main struct SpareBits {
  static func main() {
    var sum = 0
    for index in 0..<100 {
      let object = Watched()
      sum += watch(object)
      watched.append(object)
      eithers.append([.first(First()), .second(Second()), .third(Watched())][index % 3])
    }
    print("TRUTH {\"leaked\":\(sum == 100 ? 0 : 1)}")
  }
}
