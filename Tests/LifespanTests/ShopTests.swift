// The examples of the article "Test live counts", as they stand there.
import Foundation
import Lifespan
import Testing
import XCTest

final class Visitor: Tracked {}

/// What the examples test.
final class Shop {
  private var visitors: [Visitor] = []

  func serve(_ count: Int) {
    for _ in 0..<count { visitors.append(Visitor()) }
    visitors.removeAll()
  }
}

final class ShopTests: XCTestCase {
  override func setUpWithError() throws { try startRecording() }

  func testAShopLetsItsVisitorsGo() throws {
    let shop = Shop()
    shop.serve(1)  // what is made once is made now
    let before = Allocations.markGeneration("warm")
    shop.serve(100)
    XCTAssertEqual(try Allocations.liveCount(of: Visitor.self), 0)
    let growth = try Allocations.growth(since: before)
    XCTAssertEqual(growth.persistentCount(ofType: String(reflecting: Visitor.self)), 0, "\(growth.rows)")
    withExtendedLifetime(shop) {}
  }
}

@Suite(.serialized) struct ShopSuite {
  init() throws { try startRecording() }

  @Test func aShopLetsItsVisitorsGo() throws {
    let shop = Shop()
    let before = Allocations.markGeneration("open")
    shop.serve(100)
    #expect(try Allocations.liveCount(of: Visitor.self) == 0)
    #expect(try Allocations.growth(since: before).persistentCount(ofType: String(reflecting: Visitor.self)) == 0)
    withExtendedLifetime(shop) {}
  }
}

final class ArticleTests: XCTestCase {
  func testTheArticlesExamplesAreTheseTests() throws {
    let here = URL(fileURLWithPath: #filePath)
    let source = try String(contentsOf: here, encoding: .utf8)
    let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let article = try String(
      contentsOf: root.appendingPathComponent("Sources/Lifespan/Lifespan.docc/TestLiveCounts.md"), encoding: .utf8)
    let blocks = article.components(separatedBy: "```swift\n").dropFirst().compactMap {
      $0.components(separatedBy: "```").first
    }.filter { $0.contains("Visitor") }
    XCTAssertEqual(blocks.count, 1)
    for block in blocks { XCTAssertTrue(source.contains(block), block) }
  }
}
