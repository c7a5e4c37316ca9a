// Random addresses of large programs, named here and by llvm-symbolizer. `Tools/symbol-proof` runs it on programs that it is given and shows
// the figures; without those it looks at the toolchain's swift-format and docc, where they are.
import Foundation
import XCTest

@testable import LifespanSymbols

final class SymbolProofTests: XCTestCase {
  /// What was found at addresses of one program.
  private struct Findings {
    var equal = 0
    /// Of several names that one place has, another one.
    var otherName = 0
    /// A symbol without a size, which llvm-symbolizer lets reach up to the next one: `_init` over the table of calls to
    /// libraries, a label of assembler over the rest of the function that it stands in.
    var unsized = 0
    var inlined = 0
    var withLine = 0
    var unnamed = 0
    var different: [String] = []
  }

  private var environment: [String: String] { ProcessInfo.processInfo.environment }

  private func programs() -> [String] {
    if let named = environment["LIFESPAN_PROOF_PROGRAMS"] { return named.split(separator: ":").map(String.init) }
    let folders = (environment["PATH"] ?? "").split(separator: ":")
    return ["swift-format", "docc"].compactMap { name in
      folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
  }

  /// The same addresses each time: anywhere in the program's functions, and between them.
  private func addresses(_ path: String, count: Int) throws -> [UInt64] {
    let table = try ElfFile(path: path).symbols()
    guard let ends = table.bounds else { return [] }
    var random: UInt64 = 0x5eed
    return (0..<count).map { _ in
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return ends.lowerBound + (random >> 16) % (ends.upperBound - ends.lowerBound)
    }
  }

  /// `function file:line` from the innermost, as llvm-symbolizer tells it.
  private func told(_ path: String, _ addresses: [UInt64]) throws -> [[String]] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [
      "llvm-symbolizer", "--obj=" + path, "--no-demangle", "--functions=linkage", "--inlines",
    ]
    let (asked, answered) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput) = (asked, answered)
    try process.run()
    let input = addresses.map { "0x" + String($0, radix: 16) + "\n" }.joined()
    DispatchQueue.global().async {
      asked.fileHandleForWriting.write(Data(input.utf8))
      try? asked.fileHandleForWriting.close()
    }
    let text = String(decoding: answered.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    XCTAssertEqual(process.terminationStatus, 0)
    return text.components(separatedBy: "\n\n").filter { !$0.isEmpty }.map { block in
      let lines = block.split(separator: "\n", omittingEmptySubsequences: false)
      return stride(from: 0, to: lines.count - 1, by: 2).map { index in
        let parts = lines[index + 1].split(separator: ":")
        let isKnown = !lines[index + 1].hasPrefix("??") && !lines[index + 1].contains("<compiler-generated>")
        guard isKnown, parts.count > 1, let line = Int(parts[parts.count - 2]), line > 0 else {
          return String(lines[index])
        }
        let file = parts.dropLast(2).joined(separator: ":")
        return "\(lines[index]) \(URL(fileURLWithPath: file).standardizedFileURL.path):\(line)"
      }
    }
  }

  private func found(_ address: UInt64, _ table: SymbolTable, _ lines: LineTable?) -> [String] {
    var places = lines?.places(at: address) ?? []
    let own = places.popLast()
    let outermost = table.function(at: address)?.mangled ?? own?.function ?? "??"
    func text(_ name: String, _ place: LineTable.Place?) -> String {
      guard let place, let file = place.file, let line = place.line else { return name }
      return "\(name) \(URL(fileURLWithPath: file).standardizedFileURL.path):\(line)"
    }
    return places.map { text($0.function ?? "??", $0) } + [text(outermost, own)]
  }

  /// Whether they differ in the outermost function's name alone, and both are names of one place.
  private func sameButName(_ here: [String], _ there: [String], _ address: UInt64, _ table: SymbolTable) -> Bool {
    guard here.count == there.count, here.dropLast() == there.dropLast(), let own = here.last, let other = there.last
    else { return false }
    func parts(_ text: String) -> (name: String, rest: String) {
      let end = text.firstIndex(of: " ") ?? text.endIndex
      return (String(text[..<end]), String(text[end...]))
    }
    return parts(own).rest == parts(other).rest && table.allNames(at: address).contains(parts(other).name)
  }

  private func reachesTooFar(_ here: [String], _ there: [String]) -> Bool {
    guard here.count == 1, there.count == 1 else { return false }
    if here == ["??"] { return there == ["_init"] }
    let places = [here[0], there[0]].map { $0.split(separator: " ").last ?? "" }
    return places[0] == places[1] && places[0].contains(".S:")
  }

  private func examine(_ path: String, count: Int) throws -> Findings {
    let addresses = try addresses(path, count: count)
    let begin = ContinuousClock.now
    let file = try ElfFile(path: path)
    let (table, lines) = (file.symbols(), file.lines())
    let here = addresses.map { found($0, table, lines) }
    let ours = ContinuousClock.now - begin
    let second = ContinuousClock.now
    let there = try told(path, addresses)
    let theirs = ContinuousClock.now - second
    XCTAssertEqual(here.count, there.count)
    var findings = Findings()
    for (address, (own, other)) in zip(addresses, zip(here, there)) {
      findings.inlined += own.count > 1 ? 1 : 0
      findings.withLine += own.contains { $0.contains(" ") } ? 1 : 0
      findings.unnamed += own == ["??"] ? 1 : 0
      if own == other {
        findings.equal += 1
      } else if sameButName(own, other, address, table) {
        findings.otherName += 1
      } else if reachesTooFar(own, other) {
        findings.unsized += 1
      } else {
        findings.different.append("0x\(String(address, radix: 16)): \(own), llvm-symbolizer: \(other)")
      }
    }
    if environment["LIFESPAN_PROOF_PROGRAMS"] != nil {
      print(
        "PROOF \(path): \(count) addresses, \(findings.equal) equal, \(findings.otherName) another name of the same function, "
          + "\(findings.unsized) a symbol without a size, "
          + "\(findings.different.count) different; \(findings.withLine) with a line, \(findings.inlined) inlined, "
          + "\(findings.unnamed) in no function; \(ours) here, \(theirs) llvm-symbolizer")
      for text in findings.different.prefix(20) { print("PROOF   \(text)") }
    }
    return findings
  }

  func testRandomAddressesOfLargeProgramsAreToldAsLLVMTellsThem() throws {
    let count = Int(environment["LIFESPAN_PROOF_COUNT"] ?? "") ?? 1_000
    XCTAssertFalse(programs().isEmpty, "the toolchain has swift-format")
    for path in programs() {
      let findings = try examine(path, count: count)
      XCTAssertEqual(findings.different, [], path)
      XCTAssertGreaterThan(findings.equal + findings.otherName, count / 2, path)
    }
  }
}
