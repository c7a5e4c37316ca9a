// Encodes and decodes orders as JSON: `json ROUNDS`.
import Foundation

struct Item: Codable {
  var name: String
  var price: Double
  var tags: [String]
}
struct Order: Codable {
  var number: Int
  var customer: String
  var items: [Item]
}

@main enum Program {
  static func main() throws {
    let rounds = Int(CommandLine.arguments.dropFirst().first ?? "") ?? 100
    let orders = (0..<40).map { number in
      Order(
        number: number, customer: "customer number \(number) of the town",
        items: (0..<5).map { Item(name: "thing \($0)", price: Double($0) * 1.5, tags: ["new", "blue \($0)"]) })
    }
    let start = DispatchTime.now().uptimeNanoseconds
    var bytes = 0
    for _ in 0..<rounds {
      let data = try JSONEncoder().encode(orders)
      bytes += data.count
      let read = try JSONDecoder().decode([Order].self, from: data)
      guard read.count == orders.count else { fatalError("lost an order") }
    }
    let whole = Double(DispatchTime.now().uptimeNanoseconds - start)
    FileHandle.standardError.write(Data("TOOK \(whole / Double(rounds)) ns a round of \(bytes / rounds) bytes\n".utf8))
  }
}
