// CoreFoundation frees its objects with plain free(), behind the Swift runtime's back: NSURL objects, and the dictionaries of a property list, whose
// class it changes after their birth. Argument: how many; all are dropped.

import Foundation

@main
enum Program {
  static func main() {
    let count = argument(1, default: 200)
    var length = 0
    for number in 0..<count {
      length += NSURL(string: "https://example.org/page/\(number)?query=1")?.absoluteString.count ?? 0
    }
    let list = Data("<plist version=\"1.0\"><dict><key>a</key><array><string>b</string></array></dict></plist>".utf8)
    for _ in 0..<count {
      let read = try? PropertyListSerialization.propertyList(from: list, options: [], format: nil)
      length += (read as? [String: [String]])?["a"]?.count ?? 0
    }
    say("length \(length)")
    exit(0)
  }
}
