// Foundation's JSON coders making and dropping objects of the program's own types, and NSObject subclasses beside them.

import Foundation

final class Item: Codable {
  static let tally = Tally("Item")
  private let born: Int
  let name: String
  let tags: [String]
  let parts: [Item]

  enum CodingKeys: CodingKey { case name, tags, parts }

  init(name: String, tags: [String], parts: [Item]) {
    born = Item.tally.made()
    self.name = name
    self.tags = tags
    self.parts = parts
  }

  init(from decoder: any Decoder) throws {
    born = Item.tally.made()
    do {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      name = try values.decode(String.self, forKey: .name)
      tags = try values.decode([String].self, forKey: .tags)
      parts = try values.decode([Item].self, forKey: .parts)
    } catch {
      // A failing initialiser runs no deinit, but the object was there.
      Item.tally.gone(born)
      throw error
    }
  }

  deinit { Item.tally.gone(born) }
}

final class Badge: NSObject {
  static let tally = Tally("Badge")
  let born = Badge.tally.made()
  deinit { Badge.tally.gone(born) }
}

/// Made out of sight, so that no optimiser puts it on the stack.
@inline(never) func badge() -> Badge { Badge() }

nonisolated(unsafe) var kept: [Item] = []
nonisolated(unsafe) var badges = NSMutableArray()

@main
enum Program {
  static func main() throws {
    let items = (0..<100).map { number in
      Item(
        name: "item \(number)", tags: ["first tag of many", "second"], parts: [Item(name: "part", tags: [], parts: [])])
    }
    let data = try JSONEncoder().encode(items)
    for round in 0..<5 {
      let decoded = try JSONDecoder().decode([Item].self, from: data)
      if round == 2 { kept = decoded }
      badges.add(badge())
      _ = badge()
    }
    let damaged = Data(data.dropLast(data.count / 2))
    say("damaged: \((try? JSONDecoder().decode([Item].self, from: damaged)) == nil)")
    let wrong = Data("[{\"name\":\"a\",\"tags\":[],\"parts\":[]},{\"name\":3}]".utf8)
    say("wrong: \((try? JSONDecoder().decode([Item].self, from: wrong)) == nil)")
    say("bytes \(data.count)")
    withExtendedLifetime(items) { printTruth(Item.tally, Badge.tally) }
    exit(0)
  }
}
