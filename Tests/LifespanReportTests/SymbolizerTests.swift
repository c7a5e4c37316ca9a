// Naming of addresses in real ELF files: full tables, stripped ones, other builds, debug files.
import Foundation
import XCTest

@testable import LifespanSymbols

final class SymbolizerTests: XCTestCase {
  /// Where each function of an unstripped program begins, by the table itself.
  func start(of name: String, in program: CompiledProgram) throws -> UInt64 {
    let table = try ElfFile(path: program.path).symbols()
    for address in UInt64(0x1)..<0x10000 {
      if let match = table.function(startingAt: address), match.mangled == name { return address }
    }
    throw XCTSkip.missing(name)
  }

  private func name(_ address: CodeAddress, _ image: CodeImage, _ symbolizer: Symbolizer = Symbolizer()) -> String {
    symbolizer.frame(at: CodeLocation(image: image, address: address)).description
  }

  func testNamesPrivateAndExportedFunctionsOfAFullTable() throws {
    let program = try CompiledProgram.build(in: temporaryFolder(self), name: "libSample.so")
    let hidden = try start(of: "_ZL11private_onei", in: program)
    let member = try start(of: "_ZN5Cache6refillEi", in: program)
    XCTAssertEqual(name(.instruction(hidden + 2), program.image), "private_one(int) + 2 [Sample]")
    XCTAssertEqual(name(.instruction(member), program.image), "Cache::refill(int) + 0 [Sample]")
  }

  func testAReturnAddressBehindTheLastInstructionBelongsToTheCaller() throws {
    let program = try CompiledProgram.build(in: temporaryFolder(self), name: "libSample.so")
    let start = try start(of: "ends_in_a_call", in: program)
    let table = try ElfFile(path: program.path).symbols()
    var end = start
    while table.function(at: end)?.mangled == "ends_in_a_call" { end += 1 }
    XCTAssertEqual(name(.returnAddress(end), program.image), "ends_in_a_call + \(end - start) [Sample]")
  }

  func testAPrivateFunctionOfAStrippedFileIsNeverItsNeighbour() throws {
    let folder = try temporaryFolder(self)
    let full = try CompiledProgram.build(in: folder, name: "full.so")
    let stripped = try CompiledProgram.build(in: folder, name: "libSample.so", flags: ["-Wl,-s"])
    // The linker moves all code of the stripped file by the same distance.
    let exported = try start(of: "exported_one", in: stripped)
    let hidden = try exported &+ start(of: "_ZL11private_onei", in: full) &- start(of: "exported_one", in: full)
    let symbolizer = Symbolizer(debugRoot: folder.path)
    XCTAssertEqual(
      name(.instruction(hidden), stripped.image, symbolizer),
      "libSample.so + 0x\(String(hidden, radix: 16)) [Sample]")
    XCTAssertEqual(name(.instruction(exported), stripped.image, symbolizer), "exported_one + 0 [Sample]")
    XCTAssertEqual(
      symbolizer.notes.map(\.text),
      [
        "libSample.so is stripped and there is no debug file for build-id abcdef, so only its exported functions have "
          + "names; link it without -s and do not strip it, or install its debug file (--debug-path names its folder)."
      ])
  }

  func testADebugFileOfTheSameBuildNamesAStrippedFile() throws {
    let folder = try temporaryFolder(self)
    let full = try CompiledProgram.build(in: folder, name: "debug/.build-id/ab/cdef.debug")
    let stripped = try CompiledProgram.build(in: folder, name: "libSample.so", flags: ["-Wl,-s"])
    let hidden = try start(of: "_ZL11private_onei", in: full)
    let symbolizer = Symbolizer(debugRoot: folder.appendingPathComponent("debug").path)
    XCTAssertEqual(name(.instruction(hidden), stripped.image, symbolizer), "private_one(int) + 0 [Sample]")
    XCTAssertEqual(symbolizer.notes.map(\.problem), [.noLines(stripped.image.buildID)])
  }

  func testAFileInTheFolderOfSymbolsNamesOneThatRanElsewhere() throws {
    let folder = try temporaryFolder(self)
    for (number, place) in ["app/libSample.so", "libSample.so"].enumerated() {
      let root = folder.appendingPathComponent("\(number)").path
      let moved = try CompiledProgram.build(in: folder, name: "\(number)/\(place)")
      let hidden = try start(of: "_ZL11private_onei", in: moved)
      let ran = CodeImage(path: "/app/libSample.so", buildID: moved.image.buildID)
      XCTAssertEqual(
        name(.instruction(hidden), ran, Symbolizer(places: SymbolPlaces(folders: [root]))),
        "private_one(int) + 0 [Sample]")
      let other = CodeImage(path: "/app/libSample.so", buildID: BuildID([0x12, 0x34]))
      let symbolizer = Symbolizer(places: SymbolPlaces(folders: [root]))
      _ = symbolizer.frame(at: CodeLocation(image: other, address: .instruction(hidden)))
      XCTAssertEqual(
        symbolizer.notes.map(\.text),
        [
          "/app/libSample.so: No such file or directory, so its functions have no names; "
            + "put the file that ran back there, or name a folder that holds it with --symbols."
        ])
    }
  }

  func testADebugFileInTheFolderOfSymbolsNamesAStrippedFileThatRanElsewhere() throws {
    let folder = try temporaryFolder(self)
    let full = try CompiledProgram.build(in: folder, name: "usr/lib/debug/.build-id/ab/cdef.debug")
    let stripped = try CompiledProgram.build(in: folder, name: "app/libSample.so", flags: ["-Wl,-s"])
    let hidden = try start(of: "_ZL11private_onei", in: full)
    let ran = CodeImage(path: "/app/libSample.so", buildID: stripped.image.buildID)
    XCTAssertEqual(
      name(.instruction(hidden), ran, Symbolizer(places: SymbolPlaces(folders: [folder.path]))),
      "private_one(int) + 0 [Sample]")
  }

  func testWhatIsNoFileIsNotOpenedForReading() throws {
    // Nobody writes into the pipe: an open that waits for that never returns.
    let pipe = try temporaryFolder(self).appendingPathComponent("libPipe.so").path
    XCTAssertEqual(mkfifo(pipe, 0o600), 0)
    for path in [pipe, "/dev/zero", "/proc"] {
      XCTAssertThrowsError(try ElfFile(path: path)) { XCTAssertEqual($0 as? ElfError, .notElf, path) }
    }
  }

  func testAnotherBuildIsSaidAndNotGuessed() throws {
    let program = try CompiledProgram.build(in: temporaryFolder(self), name: "libSample.so")
    let hidden = try start(of: "_ZL11private_onei", in: program)
    let image = CodeImage(path: program.path, buildID: BuildID([0x12, 0x34]))
    let symbolizer = Symbolizer()
    XCTAssertEqual(
      name(.instruction(hidden), image, symbolizer), "libSample.so + 0x\(String(hidden, radix: 16)) [Sample]")
    XCTAssertEqual(
      symbolizer.notes.first?.problem, .otherBuild(ran: image.buildID, found: program.image.buildID))
  }

  func testAMissingFileAndAFileThatIsNoELFAreSaid() throws {
    let folder = try temporaryFolder(self)
    let text = folder.appendingPathComponent("libText.so")
    try Data("no program".utf8).write(to: text)
    let symbolizer = Symbolizer()
    XCTAssertEqual(name(.instruction(16), CodeImage(path: "/nowhere/App"), symbolizer), "App + 0x10 [App]")
    XCTAssertEqual(name(.instruction(16), CodeImage(path: text.path), symbolizer), "libText.so + 0x10 [Text]")
    XCTAssertEqual(symbolizer.notes.map(\.problem), [.missingFile("No such file or directory"), .notElf])
  }

  func testEveryTruncationOfAFileIsReadWithoutACrash() throws {
    let folder = try temporaryFolder(self)
    let program = try CompiledProgram.build(in: folder, name: "libSample.so")
    let whole = try Data(contentsOf: URL(fileURLWithPath: program.path))
    let cut = folder.appendingPathComponent("cut.so")
    for length in stride(from: 0, to: whole.count, by: 61) {
      try whole.prefix(length).write(to: cut)
      guard let file = try? ElfFile(path: cut.path) else { continue }
      _ = file.buildID()
      _ = file.debugLink()
      _ = file.symbols().function(at: 0x1000)
    }
  }

  func testTheResponsibleFrameIsTheFirstOneOfTheProgram() throws {
    let program = try CompiledProgram.build(in: temporaryFolder(self), name: "libSample.so")
    let exported = try start(of: "exported_one", in: program)
    let runtime = CodeLocation(image: CodeImage(path: "/opt/x/libswiftCore.so"), address: .returnAddress(0x40))
    let own = CodeLocation(image: program.image, address: .returnAddress(exported + 1))
    let symbolizer = Symbolizer()
    XCTAssertEqual(symbolizer.responsibleFrame(of: [runtime, own])?.function, "exported_one")
    XCTAssertNil(symbolizer.responsibleFrame(of: [runtime]))
  }
}

extension XCTSkip {
  /// The compiler left the function out: the fixture is wrong, not the code under test.
  fileprivate static func missing(_ name: String) -> any Error {
    CompiledProgram.BuildFailure(text: "no function \(name) in the fixture")
  }
}

/// The folders that a reader names: each gives the same, and none of another build.
extension SymbolizerTests {
  func testASysrootADebugPathAndAFolderOfSymbolsGiveTheSameNames() throws {
    let folder = try temporaryFolder(self)
    let full = try CompiledProgram.build(in: folder, name: "debug/.build-id/ab/cdef.debug")
    let root = try CompiledProgram.build(in: folder, name: "root/app/libSample.so")
    let (hidden, inRoot) = try (start(of: "_ZL11private_onei", in: full), start(of: "_ZL11private_onei", in: root))
    let ran = CodeImage(path: "/app/libSample.so", buildID: full.image.buildID)
    let rebuilt = CodeImage(path: "/app/libSample.so", buildID: BuildID([0x12, 0x34]))
    XCTAssertEqual(root.image.buildID, full.image.buildID)
    let places = [
      SymbolPlaces(folders: [folder.appendingPathComponent("root").path]),
      SymbolPlaces(sysroots: [folder.appendingPathComponent("root").path]),
      // The image itself is gone: its debug file is enough.
      SymbolPlaces(debugPaths: ["/nonexistent", folder.appendingPathComponent("debug").path]),
      SymbolPlaces(
        sysroots: ["/nonexistent"], debugPaths: [folder.path, folder.appendingPathComponent("debug").path]),
    ]
    for place in places {
      let symbolizer = Symbolizer(places: place, debugRoot: "/nonexistent")
      // The same build-id, but two links.
      let address = CodeAddress.instruction(place.debugPaths.isEmpty ? inRoot : hidden)
      let location = CodeLocation(image: ran, address: address)
      XCTAssertEqual(symbolizer.frame(at: location).description, "private_one(int) + 0 [Sample]", "\(place)")
      let other = CodeLocation(image: rebuilt, address: .instruction(hidden))
      XCTAssertTrue(symbolizer.frame(at: other).description.hasPrefix("libSample.so + 0x"), "\(place)")
      XCTAssertEqual(symbolizer.notes.last?.problem, .missingFile("No such file or directory"), "\(place)")
    }
  }

  func testASysrootHoldsDebugFilesAsTheSystemDoes() throws {
    let folder = try temporaryFolder(self)
    let full = try CompiledProgram.build(in: folder, name: "root/usr/lib/debug/.build-id/ab/cdef.debug")
    let stripped = try CompiledProgram.build(in: folder, name: "root/app/libSample.so", flags: ["-Wl,-s"])
    let hidden = try start(of: "_ZL11private_onei", in: full)
    let ran = CodeImage(path: "/app/libSample.so", buildID: stripped.image.buildID)
    let symbolizer = Symbolizer(places: SymbolPlaces(sysroots: [folder.appendingPathComponent("root").path]))
    XCTAssertEqual(
      symbolizer.frame(at: CodeLocation(image: ran, address: .instruction(hidden))).description,
      "private_one(int) + 0 [Sample]")
  }
}
