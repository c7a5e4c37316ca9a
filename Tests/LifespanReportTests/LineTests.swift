// Files, lines and inlined functions: of programs built for the test, against llvm-symbolizer, and from separate debug files.
import Foundation
import XCTest

@testable import LifespanSymbols

final class LineTests: XCTestCase {
  private static let swift = """
    struct Box<Value> { var value: Value }
    protocol Shape { func area() -> Int }
    struct Square: Shape {
      let side: Int
      @inline(__always) func area() -> Int { twice(side) * side }
    }
    @inline(__always) func twice(_ n: Int) -> Int { n &+ n }
    final class Node {
      var next: Node?
      let boxes: [Box<Int>]
      init(_ n: Int) { boxes = (0..<n).map { Box(value: twice($0)) } }
      deinit { print("gone", boxes.count) }
    }
    @inline(never) func build(_ n: Int) -> Node {
      let node = Node(n)
      for i in 0..<n where Square(side: i).area() > 3 {
        let more = Node(i)
        more.next = node.next
        node.next = more
      }
      return node
    }
    func later(_ n: Int) async -> Int { await Task { build(n).boxes.count }.value }
    print(await later(CommandLine.arguments.count))
    """

  private func run(_ words: [String], input: String = "") throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = words
    let (asked, told) = (Pipe(), Pipe())
    (process.standardInput, process.standardOutput) = (asked, told)
    try process.run()
    DispatchQueue.global().async {
      asked.fileHandleForWriting.write(Data(input.utf8))
      try? asked.fileHandleForWriting.close()
    }
    let text = String(decoding: told.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    XCTAssertEqual(process.terminationStatus, 0, "\(words)")
    return text
  }

  /// A program of Swift with optimisation and debugging information.
  private func program(in folder: URL) throws -> String {
    let source = folder.appendingPathComponent("main.swift")
    try Data(Self.swift.utf8).write(to: source)
    let output = folder.appendingPathComponent("Program").path
    _ = try run(["swiftc", "-O", "-g", "-Xlinker", "--build-id=0xabcdef", source.path, "-o", output])
    return output
  }

  private func image(_ path: String) -> CodeImage { CodeImage(path: path, buildID: BuildID([0xab, 0xcd, 0xef])) }

  /// Addresses of a program's functions, three bytes apart.
  private func addresses(of path: String) throws -> [UInt64] {
    let table = try ElfFile(path: path).symbols()
    return stride(from: UInt64(0x1000), to: 0x10000, by: 3).filter { table.function(at: $0) != nil }
  }

  /// `function file:line`, from the innermost; a line that nobody knows is left out.
  private func line(_ function: String, _ file: String?, _ line: Int?) -> String {
    guard let file, let line, line > 0 else { return function }
    return "\(function) \(URL(fileURLWithPath: file).standardizedFileURL.path):\(line)"
  }

  private func symbolizer(_ path: String, _ addresses: [UInt64]) throws -> [[String]] {
    let input = addresses.map { "0x" + String($0, radix: 16) + "\n" }.joined()
    let words = ["llvm-symbolizer", "--obj=" + path, "--no-demangle", "--functions=linkage", "--inlines"]
    return try run(words, input: input).components(separatedBy: "\n\n").filter { !$0.isEmpty }.map { block in
      let lines = block.split(separator: "\n")
      return stride(from: 0, to: lines.count - 1, by: 2).map { index in
        let parts = lines[index + 1].split(separator: ":")
        let known = !lines[index + 1].hasPrefix("??") && !lines[index + 1].contains("<compiler-generated>")
        return line(String(lines[index]), known ? String(parts[0]) : nil, known ? Int(parts[1]) : nil)
      }
    }
  }

  func testEveryAddressIsToldAsLLVMTellsIt() throws {
    let path = try program(in: temporaryFolder(self))
    let file = try ElfFile(path: path)
    let lines = try XCTUnwrap(file.lines())
    let table = file.symbols()
    let addresses = try addresses(of: path)
    XCTAssertGreaterThan(addresses.count, 1000)
    var inlined = 0
    for (address, expected) in zip(addresses, try symbolizer(path, addresses)) {
      let places = lines.places(at: address)
      var found = places.dropLast().map { line($0.function ?? "??", $0.file, $0.line) }
      let own = try XCTUnwrap(table.function(at: address)).mangled
      found.append(line(own, places.last?.file, places.last?.line))
      // Of functions that were folded into one, either may give the name.
      let last = expected.last.map { $0.split(separator: " ").dropFirst().map { " " + $0 }.joined() } ?? ""
      XCTAssertEqual(found, expected.dropLast() + [own + last], String(address, radix: 16))
      inlined += places.count > 1 ? 1 : 0
    }
    XCTAssertGreaterThan(inlined, 100, "places with inlined functions")
  }

  /// All frames of those addresses, as a report has them.
  private func frames(_ symbolizer: Symbolizer, _ path: String, _ addresses: [UInt64]) -> [[Frame]] {
    addresses.map { symbolizer.frames(at: CodeLocation(image: image(path), address: .instruction($0))) }
  }

  func testADebugFileGivesWhatTheWholeProgramGives() throws {
    let folder = try temporaryFolder(self)
    let path = try program(in: folder)
    let addresses = try addresses(of: path)
    let whole = frames(Symbolizer(debugRoot: folder.path), path, addresses)
    XCTAssertTrue(whole.joined().contains { $0.inlined && $0.file?.hasSuffix("/main.swift") ?? false })

    let debug = folder.appendingPathComponent("Program.debug").path
    _ = try run(["objcopy", "--only-keep-debug", path, debug])
    _ = try run(["strip", path])
    let stripped = Symbolizer(debugRoot: folder.path)
    XCTAssertNotEqual(frames(stripped, path, addresses), whole)
    XCTAssertEqual(stripped.notes.map(\.problem), [.stripped(image(path).buildID)])

    // By the link in the program, beside it and in .debug; then by its build-id.
    _ = try run(["objcopy", "--add-gnu-debuglink=\(debug)", path])
    let linked = Symbolizer(debugRoot: "/nonexistent")
    XCTAssertEqual(frames(linked, path, addresses), whole)
    XCTAssertEqual(linked.notes, [])
    let place = folder.appendingPathComponent("root/.build-id/ab")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    try FileManager.default.moveItem(atPath: debug, toPath: place.appendingPathComponent("cdef.debug").path)
    let byBuild = Symbolizer(debugRoot: folder.appendingPathComponent("root").path)
    XCTAssertEqual(frames(byBuild, path, addresses), whole)
    XCTAssertEqual(byBuild.notes, [])
  }

  func testAProgramWithoutLinesSaysHowToGetThem() throws {
    let program = try CompiledProgram.build(in: temporaryFolder(self), name: "Server")
    let table = try ElfFile(path: program.path).symbols()
    let start = try XCTUnwrap((1..<0x10000).first { table.function(at: $0)?.mangled == "exported_one" })
    let symbolizer = Symbolizer()
    let frame = symbolizer.frame(at: CodeLocation(image: program.image, address: .instruction(UInt64(start))))
    XCTAssertEqual(frame.description, "exported_one + 0 [Server]")
    XCTAssertEqual(
      symbolizer.notes.map(\.text),
      [
        "Server was built without -g, so its frames have no file and line; build it with -g (swiftc -g; swift build "
          + "does), or install its debug file (--debug-path names its folder)."
      ])
  }

  func testAFunctionOfTheLibraryThatWasInlinedIsNotTheProgramsOwn() throws {
    let path = try program(in: temporaryFolder(self))
    let all = frames(Symbolizer(), path, try addresses(of: path)).joined()
    let library = all.filter { $0.inlined && $0.function.contains("Collection.map") }
    XCTAssertFalse(library.isEmpty)
    XCTAssertTrue(library.allSatisfy { $0.origin == .runtime })
    XCTAssertTrue(all.contains { $0.inlined && $0.function == "twice(_:)" && $0.origin == .program && $0.line == 7 })
  }

  func testABrokenFileHasNoLines() throws {
    let folder = try temporaryFolder(self)
    let path = try program(in: folder)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes.removeLast(bytes.count / 2)
    try bytes.write(to: URL(fileURLWithPath: path))
    // Where the tables of its sections are gone nothing is read.
    XCTAssertNil(try ElfFile(path: path).lines())
  }
}
