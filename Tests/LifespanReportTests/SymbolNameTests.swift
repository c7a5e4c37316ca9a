// Names and ranges without files: demangling, lookup in a table, whose code a function is.
import XCTest

@testable import LifespanSymbols

final class SymbolNameTests: XCTestCase {
  func testDemanglesSwiftShortCxxAndRust() {
    let demangler = Demangler()
    XCTAssertEqual(demangler.demangle("$s4Case1fyyFyycfU_TA"), "partial apply for closure #1 in f()")
    XCTAssertEqual(demangler.demangle("$sSa6appendyyxnFSi_Tg5"), "specialized Array.append(_:)")
    XCTAssertEqual(demangler.demangle("$s4Case3runyyYaFTY0_"), "run()")
    XCTAssertEqual(
      demangler.demangle("$s4Case11PrivateNode33_ABCDEFABCDEFABCDEFABCDEFABCDEFABLLC3fooyyF"), "PrivateNode.foo()")
    XCTAssertEqual(demangler.demangle("_ZN3foo3barEi"), "foo::bar(int)")
    XCTAssertEqual(demangler.demangle("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE"), "core::fmt::Formatter::pad")
    XCTAssertEqual(
      demangler.demangle("_ZN37_$LT$app..Job$u20$as$u20$app..Run$GT$3run17h0123456789abcdefE"),
      "<app::Job as app::Run>::run")
    XCTAssertEqual(demangler.demangle("$s4CaseyyYacfU_TY0_"), "closure #1 in Case")
    XCTAssertEqual(demangler.demangle("async_MainTQ0_"), "async_Main")
    XCTAssertEqual(demangler.demangle("malloc"), "malloc")
    XCTAssertEqual(demangler.demangle("$s4nonsense"), "$s4nonsense")
  }

  func testWhatTheCompilerPutsBetweenFunctionsIsNobodysOwn() {
    let thunks = [
      "partial apply for closure #1 in f()", "thunk for @escaping @callee_guaranteed () -> ()",
      "partial apply for specialized thunk for @escaping @async () -> ()", "specialized thunk for @async () -> ()",
      "async_Main",
    ]
    for name in thunks { XCTAssertFalse(Frame(function: name, module: "M").isOwn, name) }
    for name in ["closure #1 in f()", "implicit closure #1 in f()", "thunk()", "specialized f()"] {
      XCTAssertTrue(Frame(function: name, module: "M").isOwn, name)
      XCTAssertFalse(Frame(function: name, module: "M", origin: .runtime).isOwn, name)
    }
  }

  func testFindsTheInnermostFunctionAndNothingBetweenFunctions() {
    let names = [UInt8]("outer\0inner\0later\0".utf8)
    let table = SymbolTable(
      entries: [
        .init(start: 100, end: 200, nameOffset: 0), .init(start: 120, end: 130, nameOffset: 6),
        .init(start: 300, end: 310, nameOffset: 12),
      ], names: names, isComplete: true)
    let found = (90...320).map { table.function(at: UInt64($0))?.mangled ?? "-" }
    let expected = (90...320).map { address in
      switch address {
      case 120..<130: return "inner"
      case 100..<200: return "outer"
      case 300..<310: return "later"
      default: return "-"
      }
    }
    XCTAssertEqual(found, expected)
  }

  func testOfSeveralNamesTheOneWithFewestUnderscoresIsShown() {
    let names = [UInt8]("__libc_malloc\0malloc\0".utf8)
    let table = SymbolTable(
      entries: [.init(start: 16, end: 32, nameOffset: 0), .init(start: 16, end: 32, nameOffset: 14)],
      names: names, isComplete: true)
    XCTAssertEqual(table.function(at: 20)?.mangled, "malloc")
  }

  func testAnAsyncContinuationIsNamedByWhereItBegins() {
    XCTAssertTrue(Symbolizer.isContinuation("$s4Case3runyyYaFTY12_"))
    XCTAssertTrue(Symbolizer.isContinuation("$s4Case3runyyYaFTQ0_"))
    XCTAssertFalse(Symbolizer.isContinuation("$s4Case1fyyFyycfU_"))
    XCTAssertFalse(Symbolizer.isContinuation("_"))
  }

  func testModuleNamesLoseLibAndSo() {
    let names = ["/a/libFoundation.so", "/lib/libc.so.6", "/a/MyApp", "[vdso]", "/a/plugin.so", "/a/lib.so"]
    XCTAssertEqual(
      names.map { CodeImage(path: $0).moduleName }, ["Foundation", "c", "MyApp", "[vdso]", "plugin", "lib"])
  }

  func testWhoAllocatedIsNotTheAllocatingInitialiserItself() {
    struct Namer: FrameNamer {
      let notes: [SymbolNote] = []
      func frame(at location: CodeLocation) -> Frame {
        let frames = [
          Frame(function: "swift_allocObject", offset: 1, module: "swiftCore", origin: .runtime),
          Frame(function: "Node.__allocating_init()", offset: 1, module: "App"),
          Frame(function: "build()", offset: 1, module: "App"),
        ]
        return frames[Int(location.address.value)]
      }
    }
    func allocator(_ stack: UInt64...) -> String? {
      Namer().responsibleFrame(of: stack.map { CodeLocation(image: nil, address: .instruction($0)) })?.function
    }
    XCTAssertEqual(allocator(0, 1, 2), "build()")
    XCTAssertEqual(allocator(0, 1), "Node.__allocating_init()")
    XCTAssertEqual(allocator(0), "swift_allocObject")
    XCTAssertNil(allocator())
  }

  func testToldApartProgramRuntimeAndSystem() {
    func origin(_ path: String, _ name: String?) -> FrameOrigin { .of(image: CodeImage(path: path), mangled: name) }
    XCTAssertEqual(origin("/opt/swift/usr/lib/swift/linux/libswiftCore.so", "swift_allocObject"), .runtime)
    XCTAssertEqual(origin("/usr/lib/x86_64-linux-gnu/libc.so.6", "malloc"), .system)
    XCTAssertEqual(origin("/usr/bin/tool", "$s4tool4mainyyF"), .program)
    XCTAssertEqual(origin("/home/me/App", "swift_allocObject"), .runtime)
    XCTAssertEqual(origin("/home/me/App", "$sSa6appendyyxnFSi_Tg5"), .runtime)
    XCTAssertEqual(origin("/home/me/App", "$s10Foundation4DataV5countACSi_tcfC"), .runtime)
    XCTAssertEqual(origin("/home/me/App", "$s3App4NodeCACycfC"), .program)
    XCTAssertEqual(origin("/home/me/App", nil), .program)
  }
}
