// Programs that leak nothing themselves, and use much of Foundation: `leak_free WAY [ROUNDS]`. What is reported of them is a false leak, or
// one of the toolchain's own.
import Dispatch
import Foundation

struct Order: Codable {
  let id: Int
  let name: String
  let tags: [String]
  let place: Place?
  let made: Date
}
struct Place: Codable, Hashable {
  let street: String
  let numbers: [Int]
}
final class Catalog: Codable {
  var orders: [Order] = []
  var byName: [String: Place] = [:]
}

func json(_ rounds: Int) throws -> Int {
  var catalog = Catalog(), sum = 0
  for round in 0..<rounds {
    let place = Place(street: "Street \(round) with a long name, ünïcödé", numbers: Array(0..<20))
    catalog.orders.append(
      Order(
        id: round, name: "order \(round)", tags: ["a", "b \(round)"], place: place, made: Date(timeIntervalSince1970: 1)
      ))
    catalog.byName["order \(round)"] = place
    let data = try JSONEncoder().encode(catalog)
    catalog = try JSONDecoder().decode(Catalog.self, from: data)
    let any = try JSONSerialization.jsonObject(with: data)
    sum += try JSONSerialization.data(withJSONObject: any, options: [.sortedKeys, .prettyPrinted]).count
    sum += (try? JSONDecoder().decode(Catalog.self, from: Data("{\"orders\":3}".utf8)))?.orders.count ?? 1
  }
  return sum
}

func urls(_ rounds: Int) throws -> Int {
  var sum = 0
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("leak free \(getpid())")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  for round in 0..<rounds {
    var parts = URLComponents(string: "https://user@example.org:8080/a/b%20c/\(round)?x=1&y=ü#frag")
    parts?.queryItems?.append(URLQueryItem(name: "z", value: "\(round) & more"))
    if let url = parts?.url {
      sum += url.absoluteString.utf8.count + url.pathComponents.count + (url.host()?.count ?? 0)
      sum += URL(string: "../up/./here?q", relativeTo: url)?.absoluteURL.path.count ?? 0
    }
    let file = folder.appendingPathComponent("file \(round).txt")
    try "text \(round)".write(to: file, atomically: true, encoding: .utf8)
    sum += try String(contentsOf: file, encoding: .utf8).count
    let values = try file.resourceValues(forKeys: [.fileSizeKey, .isDirectoryKey])
    sum += values.fileSize ?? 0
    sum += try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).count
  }
  try FileManager.default.removeItem(at: folder)
  return sum
}

func expressions(_ rounds: Int) throws -> Int {
  var sum = 0
  let pattern = #/(?<year>\d{4})-(?<month>\d\d)(?:-(\d+))?/#
  for round in 0..<rounds {
    let text = "from 2024-01-\(round) to 2025-12 and \(round) more; name=value; ünïcödé"
    sum += text.matches(of: pattern).map { $0.year.count + $0.month.count }.reduce(0, +)
    let other = try Regex("([a-z]+)=([a-z]+)")
    sum += text.firstMatch(of: other)?.output.count ?? 0
    sum += text.replacing(pattern) { "\($0.month)" }.count
    let old = try NSRegularExpression(pattern: "(\\w+)\\s(\\d+)", options: [.caseInsensitive])
    sum += old.matches(in: text, range: NSRange(text.startIndex..., in: text)).count
    sum += (try? Regex("(unclosed")) == nil ? 1 : 0
    sum += text.components(separatedBy: CharacterSet(charactersIn: ";,")).count
  }
  return sum
}

func formatters(_ rounds: Int) -> Int {
  var sum = 0
  for round in 0..<rounds {
    let dates = DateFormatter(), numbers = NumberFormatter()
    dates.locale = Locale(identifier: round % 2 == 0 ? "de_DE" : "en_US")
    dates.dateFormat = "EEEE d MMMM yyyy HH:mm:ss zzz"
    numbers.numberStyle = .currency
    let date = Date(timeIntervalSince1970: Double(round) * 86_400)
    sum += dates.string(from: date).count + (numbers.string(from: NSNumber(value: round))?.count ?? 0)
    sum += dates.date(from: "nothing") == nil ? 1 : 0
    sum +=
      ISO8601DateFormatter().string(from: date).count + ByteCountFormatter().string(fromByteCount: Int64(round)).count
    sum += date.formatted(.iso8601).count + round.formatted(.number.grouping(.automatic)).count
    sum += Calendar(identifier: .gregorian).component(.weekday, from: date)
    sum += String(format: "%05d %@ %.3f", round, "text" as NSString, 1.5).count
  }
  return sum
}

actor Bank {
  private var accounts: [Int: Int] = [:]
  func deposit(_ amount: Int, to account: Int) -> Int {
    accounts[account, default: 0] += amount
    return accounts[account] ?? 0
  }
  func total() -> Int { accounts.values.reduce(0, +) }
}

func tasks(_ rounds: Int) async throws -> Int {
  let bank = Bank()
  var sum = 0
  for round in 0..<rounds {
    sum += try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<8 { group.addTask { await bank.deposit(number, to: round % 10 + number) } }
      return try await group.reduce(0, +)
    }
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    let reader = Task { await stream.reduce(0) { $0 + $1.count } }
    for number in 0..<5 { continuation.yield("value \(number)") }
    continuation.finish()
    sum += await reader.value
    async let one = bank.total()
    async let two: Int = withCheckedContinuation { ready in DispatchQueue.global().async { ready.resume(returning: 2) }
    }
    sum += await one + two
    let cancelled = Task { try await Task.sleep(for: .seconds(1000)) }
    cancelled.cancel()
    _ = await cancelled.result
  }
  return sum
}

@main struct LeakFree {
  static func main() async throws {
    let words = CommandLine.arguments, rounds = words.count > 2 ? Int(words[2]) ?? 20 : 20
    switch words.count > 1 ? words[1] : "" {
    case "json": print(try json(rounds))
    case "url": print(try urls(rounds) > 0)
    case "regex": print(try expressions(rounds))
    case "formatter": print(formatters(rounds))
    case "tasks": print(try await tasks(rounds) > 0)
    default: print("which way?")
    }
    exit(0)
  }
}
