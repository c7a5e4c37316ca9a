// Makes and ends objects on one or more threads at once, in short rounds, and says what a pair took: `threads BUSY ROUNDS PAIRS
// [paused]`. Two threads are there in any case; of them BUSY work. paused: the recording command (our parent) stands still during
// a round, so that PAIRS must fit into a ring.
import Glibc

final class Node {
  var number: Int
  init(_ number: Int) { self.number = number }
}

nonisolated(unsafe) var turns = 0
@inline(never) @_optimize(none) func use(_ node: Node) { turns &+= 0 }
@inline(never) func makeAndEnd(_ pairs: Int) {
  for number in 0..<pairs { use(Node(number)) }
}
/// One frame a level, none of which the compiler may fold.
@inline(never) @_optimize(none) func below(_ frames: Int, _ work: () -> Void) {
  if frames <= 0 { work() } else { below(frames - 1, work) }
  turns &+= 0
}

func nanoseconds(_ clock: clockid_t) -> Int {
  var now = timespec()
  clock_gettime(clock, &now)
  return now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// What the threads share. Each takes part in both barriers of every round.
final class Course: @unchecked Sendable {
  let busy: Int, rounds: Int, pairs: Int
  var begin = pthread_barrier_t(), end = pthread_barrier_t()
  let began: UnsafeMutablePointer<Int>, ended: UnsafeMutablePointer<Int>, used: UnsafeMutablePointer<Int>
  init(busy: Int, rounds: Int, pairs: Int) {
    self.busy = busy
    self.rounds = rounds
    self.pairs = pairs
    pthread_barrier_init(&begin, nil, 3)
    pthread_barrier_init(&end, nil, 3)
    began = .allocate(capacity: 2)
    ended = .allocate(capacity: 2)
    used = .allocate(capacity: 2)
  }

  func run(_ number: Int) {
    for _ in 0..<rounds {
      pthread_barrier_wait(&begin)
      if number < busy {
        let before = nanoseconds(CLOCK_THREAD_CPUTIME_ID)
        began[number] = nanoseconds(CLOCK_MONOTONIC)
        below(24) { makeAndEnd(pairs) }
        ended[number] = nanoseconds(CLOCK_MONOTONIC)
        used[number] = nanoseconds(CLOCK_THREAD_CPUTIME_ID) - before
      }
      pthread_barrier_wait(&end)
    }
  }
}

final class Runner {
  let course: Course, number: Int
  init(_ course: Course, _ number: Int) {
    self.course = course
    self.number = number
  }
}

func start(_ runner: Runner) -> pthread_t {
  var thread = pthread_t()
  pthread_create(
    &thread, nil,
    {
      if let word = $0 {
        let runner = Unmanaged<Runner>.fromOpaque(word).takeRetainedValue()
        runner.course.run(runner.number)
      }
      return nil
    }, Unmanaged.passRetained(runner).toOpaque())
  return thread
}

/// Nobody else's process is stopped.
func commandIsOurParent() -> Bool {
  guard let file = fopen("/proc/\(getppid())/comm", "r") else { return false }
  defer { fclose(file) }
  var name = [CChar](repeating: 0, count: 64)
  return fgets(&name, 64, file) != nil && strncmp(name, "lifespan", 8) == 0
}

func middle(_ values: [Int]) -> Int { values.sorted()[values.count / 2] }

@main enum Program {
  static func main() {
    let words = CommandLine.arguments
    guard words.count >= 4, let busy = Int(words[1]), (1...2).contains(busy), let rounds = Int(words[2]),
      let pairs = Int(words[3])
    else {
      fputs("threads 1|2 ROUNDS PAIRS [paused]\n", stderr)
      exit(64)
    }
    let paused = words.count > 4 && commandIsOurParent()
    let course = Course(busy: busy, rounds: rounds + 1, pairs: pairs)
    let threads = (0..<2).map { start(Runner(course, $0)) }
    var walls: [Int] = [], used: [Int] = []
    for round in 0...rounds {
      usleep(20_000)
      if paused { kill(getppid(), SIGSTOP) }
      if paused { usleep(2000) }
      pthread_barrier_wait(&course.begin)
      pthread_barrier_wait(&course.end)
      if paused { kill(getppid(), SIGCONT) }
      if round == 0 { continue }  // memory of the rings is there
      let ended = (0..<busy).map { course.ended[$0] }.max() ?? 0
      walls.append(ended - ((0..<busy).map { course.began[$0] }.min() ?? 0))
      used.append((0..<busy).map { course.used[$0] }.reduce(0, +))
    }
    for thread in threads { pthread_join(thread, nil) }
    let all = Double(busy * pairs)
    fputs("TOOK \(Double(middle(walls)) / all) ns a pair, USED \(Double(middle(used)) / all) ns a pair\n", stderr)
  }
}
