// CoreFoundation frees NSURL objects with plain free(), behind the Swift runtime's back. Argument: how many; all are dropped.

import Foundation

@main
enum Program {
  static func main() {
    var length = 0
    for number in 0..<argument(1, default: 200) {
      length += NSURL(string: "https://example.org/page/\(number)?query=1")?.absoluteString.count ?? 0
    }
    say("length \(length)")
    exit(0)
  }
}
