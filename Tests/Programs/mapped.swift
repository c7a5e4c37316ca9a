// Maps a file and memory in each round trip, and forgets one of the mappings: a leak that no heap shows. Each round ends with a mark. Argument: rounds.

import Glibc

@inline(never) func map(_ bytes: Int, _ descriptor: Int32 = -1) -> UnsafeMutableRawPointer {
  let kind = descriptor < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE
  let start = mmap(nil, bytes, PROT_READ, kind, descriptor, 0)
  guard let start, start != MAP_FAILED else { exit(2) }
  return start
}

@inline(never) func roundTrip(_ file: Int32) {
  let book = map(20_000, file)
  munmap(book, 20_000)
  _ = map(10_000, file)
  munmap(map(1 << 20), 1 << 20)
}

@main
enum Program {
  static func main() {
    let file = open("book.data", O_RDWR | O_CREAT, 0o600)
    ftruncate(file, 30_000)
    let kept = map(1 << 20)
    for round in 1...argument(1, default: 4) {
      roundTrip(file)
      mark("round \(round)")
    }
    unlink("book.data")
    say("kept \(kept != MAP_FAILED)")
  }
}
