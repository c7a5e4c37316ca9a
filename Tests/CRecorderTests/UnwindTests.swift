// The unwinder against libunwind, at every malloc of small programs, and its small facts one by one.
import Foundation
import XCTest

final class UnwindTests: XCTestCase {
  override class func tearDown() {
    if case .success(let programs) = UnwindPrograms.shared { try? FileManager.default.removeItem(at: programs.folder) }
  }

  private func programs() throws -> UnwindPrograms { try UnwindPrograms.shared.get() }

  /// Every stack equals the reference's (or the reference had to guess in a function without frame description),
  /// reuse changes nothing, nothing allocates.
  private func assertSound(_ figures: UnwindPrograms.Figures, atLeast walks: Int, guesses: Bool = false) {
    XCTAssertGreaterThanOrEqual(figures["walks"], walks, figures.line)
    XCTAssertEqual(figures["equal"] + (guesses ? figures["guessed"] : 0), figures["walks"], figures.line)
    for name in ["calls_bad", "suffix_bad", "kept_bad", "inner", "norow", "noimage", "range"] {
      XCTAssertEqual(figures[name], 0, "\(name): \(figures.line)")
    }
  }

  func testCStacksEqualTheReference() throws {
    for (kind, walks) in [("recursion", 300), ("sort", 1000), ("aligned", 200), ("threads", 400), ("signal", 20)] {
      let figures = try programs().check("c", [kind])
      assertSound(figures, atLeast: walks)
      XCTAssertEqual(figures["whole"], figures["walks"], "\(kind): \(figures.line)")
    }
  }

  func testChangedCallersUnderTheSameSlotsAreNoticed() throws {
    assertSound(try programs().check("c", ["changing"]), atLeast: 700)
  }

  func testAStackDeeperThanTheLimitIsCutAtTheRoot() throws {
    let figures = try programs().check("c", ["deep"])
    assertSound(figures, atLeast: 1500)
    XCTAssertGreaterThan(figures["cut"], 900, figures.line)
    let small = try programs().check("c", ["recursion"], ["UNWIND_DEPTH": "16"])
    assertSound(small, atLeast: 300)
  }

  func testAnotherStackThanTheThreadsOwnIsForeignAndNotRead() throws {
    for (kind, foreign) in [("altstack", 20), ("fiber", 20)] {
      let figures = try programs().check("c", [kind])
      assertSound(figures, atLeast: 20)
      XCTAssertEqual(figures["foreign"], foreign, "\(kind): \(figures.line)")
    }
  }

  func testStacksDuringExceptionsEqualTheReference() throws {
    assertSound(try programs().check("cxx"), atLeast: 700)
  }

  /// A row that is looked for in the image when a walk meets an address is the one that compiling the whole image gives.
  func testRowsFoundOneByOneAreThoseOfTheWholeImage() throws {
    for program in ["cxx", "plain"] {
      let figures = try programs().check(program, with: "rows.so")
      XCTAssertGreaterThan(figures["rows"], 50_000, figures.line)
      XCTAssertEqual(figures["different"], 0, figures.line)
      XCTAssertGreaterThan(figures["calls"], 0, "no call was told on the way: \(figures.line)")
      XCTAssertEqual(figures["calls_different"], 0, figures.line)
    }
  }

  func testLibrariesThatComeAndGoAtTheSameAddressAreFollowed() throws {
    let programs = try programs()
    let figures = try programs.check("loader", [programs.path("plugin64.so"), programs.path("plugin200.so")])
    assertSound(figures, atLeast: 200)
    XCTAssertEqual(figures["unloaded"], 20, figures.line)
  }

  func testSwiftStacksEqualTheReferenceWithAndWithoutFramePointers() throws {
    assertSound(try programs().check("plain"), atLeast: 5000, guesses: true)
    assertSound(try programs().check("plain-fp"), atLeast: 5000, guesses: true)
  }

  func testAsyncStacksAreSoundAndGoOnThroughTheirContexts() throws {
    assertSound(try programs().check("async"), atLeast: 2000, guesses: true)
    let figures = try programs().check("async-fp", [], ["UNWIND_NO_TASKS": "1"])
    assertSound(figures, atLeast: 2000, guesses: true)
    XCTAssertEqual(figures["followed"], 0, figures.line)
    XCTAssertGreaterThan(figures["async"], 2000, figures.line)
  }

  /// Resumed functions' callers, with and without the compiler's marks: found in the task's allocator they are those of the plain chain of contexts,
  /// and the reuse of a stack that ends in its task gives what a fresh walk gives.
  func testTheCallersOfResumedFunctionsAreTheContextsOfTheirTask() throws {
    for program in ["kinds", "kinds-debug", "kinds-marked", "async-fp"] {
      let figures = try programs().check(program)
      assertSound(figures, atLeast: 2000, guesses: true)
      XCTAssertEqual(figures["callers_bad"], 0, "\(program): \(figures.line)")
      XCTAssertEqual(figures["cut_task"], 0, "\(program): \(figures.line)")
      // The rest are the start, and the runtime's own functions.
      XCTAssertGreaterThan(figures["followed"] * 100, figures["walks"] * 95, "\(program): \(figures.line)")
    }
    let cut = try programs().check("kinds-debug", [], ["UNWIND_DEPTH": "6"])
    assertSound(cut, atLeast: 2000, guesses: true)
    XCTAssertGreaterThan(cut["cut_task"], 100, cut.line)
  }

  func testTheComparisonNoticesACutStack() throws {
    let figures = try programs().check("cxx", [], ["UNWIND_CUT": "1"])
    XCTAssertEqual(figures["equal"], 0, figures.line)
  }

  func testNoModeAllocatesOrOpensADescriptor() throws {
    for mode in ["time", "fp", "libunwind", "reference"] {
      for program in ["plain", "cxx"] {
        let figures = try programs().check(program, [], ["UNWIND_CHECK": mode])
        XCTAssertEqual(figures["inner"], 0, "\(mode): \(figures.line)")
        XCTAssertEqual(figures["descriptors"], 0, "\(mode): \(figures.line)")
        XCTAssertEqual(figures["kept_bad"], 0, "\(mode): \(figures.line)")
        XCTAssertGreaterThan(figures["walks"], 500, "\(mode): \(figures.line)")
      }
    }
  }

  func testTheLibunwindModeGivesTheReferencesStacks() throws {
    let figures = try programs().check("cxx", [], ["UNWIND_CHECK": "libunwind"])
    assertSound(figures, atLeast: 700)
  }

  func testSmallFacts() throws {
    let programs = try programs()
    let plugins = [programs.path("plugin64.so"), programs.path("plugin200.so")]
    let (status, output) = try UnwindPrograms.run(programs.path("facts"), plugins, [:])
    XCTAssertEqual(status, 0)
    let facts = output.split(separator: "\n").filter { !$0.hasPrefix("loads") && !$0.hasPrefix("build_ids") }
    XCTAssertEqual(
      facts.map(String.init),
      [
        "rows 1", "epoch 1",
        "unknown_bounds 5 1",  // foreign, the caller's frame alone
        "whole 1",
        "cut 1 2",
        "none 0",
        "jit 3",  // in no image
        "main_bounds 1", "thread_bounds 1",
        "loaded 1 1", "loaded_path 1", "unloaded 1",
        "namespace 1 1",  // seen, and a refresh does not lose it
        "lengths_wrong 0",
      ])
  }
}
