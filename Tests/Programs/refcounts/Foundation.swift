// Foundation: JSON, timers, formatters, subclasses of NSObject, operation queues, caches, regular expressions.

import Foundation

struct Person: Codable, Hashable {
  var name: String
  var born: Date
  var friends: [Person]
  var links: [URL]
}

final class Observer: NSObject {
  let node: Node
  var seen = 0
  init(_ node: Node) { self.node = node }
  override func isEqual(_ object: Any?) -> Bool { (object as? Observer)?.node === node }
  override var hash: Int { node.name.hashValue }
}

func coders() {
  let friend = Person(
    name: "a friend whose name is long enough for the heap", born: Date(timeIntervalSince1970: 1), friends: [],
    links: [URL(fileURLWithPath: "/nowhere/at all")])
  let people = (0..<40).map {
    Person(name: "person \($0) with a long name", born: Date(), friends: [friend, friend], links: friend.links)
  }
  let encoder = JSONEncoder()
  encoder.dateEncodingStrategy = .iso8601
  encoder.outputFormatting = [.sortedKeys, .prettyPrinted]
  let decoder = JSONDecoder()
  decoder.dateDecodingStrategy = .iso8601
  for _ in 0..<3 {
    guard let data = try? encoder.encode(people) else { continue }
    keep((try? decoder.decode([Person].self, from: data)) as Any)
    keep((try? JSONSerialization.jsonObject(with: data)) as Any)
    _ = try? decoder.decode([Int].self, from: data)
  }
  keep((try? PropertyListEncoder().encode(people)) as Any)
  keep(encoder)
}

func timers() {
  final class Target { var count = 0 }
  let target = Target()
  let timer = Timer(timeInterval: 0.001, repeats: true) { timer in
    target.count += 1
    if target.count == 3 { timer.invalidate() }
  }
  let kept = Timer(timeInterval: 1000, repeats: false) { _ in target.count += 1 }
  RunLoop.current.add(timer, forMode: .default)
  RunLoop.current.add(kept, forMode: .default)
  RunLoop.current.run(until: Date(timeIntervalSinceNow: 0.02))
  keep(timer)
  keep(target)
}

func formatters() {
  let dates = DateFormatter()
  dates.locale = Locale(identifier: "de_DE")
  dates.dateStyle = .long
  let numbers = NumberFormatter()
  numbers.numberStyle = .currency
  for number in 0..<10 {
    keep(dates.string(from: Date(timeIntervalSince1970: Double(number) * 1e7)))
    keep(numbers.string(from: NSNumber(value: Double(number) * 1.25)) as Any)
    keep(String(format: "%@ and %d", NSString(string: "text"), number))
  }
  keep(dates)
  keep(ISO8601DateFormatter())
  keep(ByteCountFormatter.string(fromByteCount: 123_456, countStyle: .file))
  keep(Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: Date()))
}

func objects() {
  let cache = NSCache<NSString, Observer>()
  cache.countLimit = 10
  let set = NSMutableSet()
  let array = NSMutableArray()
  let dictionary = NSMutableDictionary()
  for number in 0..<60 {
    let observer = Observer(Node("observed \(number % 20)"))
    cache.setObject(observer, forKey: NSString(string: "key \(number)"))
    set.add(observer)
    array.add(observer)
    dictionary[NSString(string: "name \(number)")] = observer
    if number % 3 == 0 { array.removeObject(at: 0) }
  }
  keep(cache)
  keep(set.allObjects)
  keep(array.copy())
  keep(dictionary as NSDictionary)
  keep((dictionary as NSDictionary).allValues)
  let attributed = NSMutableAttributedString(string: "attributed text")
  attributed.addAttribute(NSAttributedString.Key("key"), value: Node("value"), range: NSRange(location: 0, length: 4))
  keep(attributed)
  keep((try? NSRegularExpression(pattern: "a(b+)c")) as Any)
  keep(NSData(data: Data(repeating: 1, count: 300)))
  keep(URL(string: "http://example.com/a?b=c") as Any)
  keep(NSURL(string: "http://example.com/nsurl") as Any)
  keep(NSUUID())
  keep(Bundle.main)
  keep(ProcessInfo.processInfo.environment.count)
}

func queues() {
  let queue = OperationQueue()
  queue.maxConcurrentOperationCount = 4
  let counter = Locked()
  let operations = (0..<40).map { number in
    BlockOperation {
      let node = Node("operation \(number)")
      counter.add(node)
    }
  }
  for (one, two) in zip(operations, operations.dropFirst()) where one.name == nil { two.addDependency(one) }
  queue.addOperations(operations, waitUntilFinished: true)
  queue.addBarrierBlock { counter.add(Node("barrier")) }
  queue.waitUntilAllOperationsAreFinished()
  keep(operations[3])
  keep(queue)
  keep(counter)
  let token = NotificationCenter.default.addObserver(forName: .init("told"), object: nil, queue: nil) { note in
    keep(note.object as Any)
  }
  NotificationCenter.default.post(name: .init("told"), object: Node("told"))
  keep(token)
  let thread = Thread { counter.add(Node("thread")) }
  thread.start()
  while !thread.isFinished { usleep(500) }
  keep(thread)
}

final class Locked: @unchecked Sendable {
  private let lock = NSLock()
  private var nodes: [Node] = []
  func add(_ node: Node) { lock.withLock { nodes.append(node) } }
}

func foundation() {
  for kind in [coders, timers, formatters, objects, queues] {
    kind()
    rest()
  }
}
